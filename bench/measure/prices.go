package measure

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"

	"github.com/goccy/go-yaml"
)

// Prices are what an object store asks for, in dollars.
type Prices struct {
	Source         string             `yaml:"source"`
	PerThousand    map[string]float64 `yaml:"per_thousand"` // requests, by kind as objstore names them
	StorageGBMonth float64            `yaml:"storage_gb_month"`
}

//go:embed prices.yaml
var listPrices []byte

// ReadPrices reads a file of prices; path "" gives the list prices that come with the program.
func ReadPrices(path string) (*Prices, error) {
	text := listPrices
	if path != "" {
		var err error
		if text, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("prices: %w", err)
		}
	}
	p := &Prices{}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(p); err != nil {
		return nil, fmt.Errorf("prices %s: %w", path, errors.New(yaml.FormatError(err, false, false)))
	}
	return p, nil
}

// Requests is what so many requests of each kind cost. A kind without a price is an error.
func (p *Prices) Requests(counts map[string]int64) (float64, error) {
	sum := 0.0
	for kind, n := range counts {
		price, ok := p.PerThousand[kind]
		if !ok {
			return 0, fmt.Errorf("prices (%s): no price for %q", p.Source, kind)
		}
		sum += float64(n) / 1000 * price
	}
	return sum, nil
}

// Storage is what it costs to keep so many bytes for a month.
func (p *Prices) Storage(size float64) float64 { return size / 1e9 * p.StorageGBMonth }
