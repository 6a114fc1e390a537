package event

// Decoder, mapping, hashing: see the package's other files.
