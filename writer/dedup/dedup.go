package dedup
