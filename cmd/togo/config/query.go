package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/api"
)

// Query settings.
type Query struct {
	Engine query.Config `yaml:",inline"`
	HTTP   api.Config   `yaml:",inline"`
}

func defaultQuery() Query {
	q := Query{Engine: query.DefaultConfig(), HTTP: api.DefaultConfig()}
	q.Engine.MaxTime = 0
	return q
}

// HeapBytes is what the role needs when all queries that may run hold all that they may.
func (q *Query) HeapBytes() int64 {
	return int64(q.HTTP.Concurrent)*q.Engine.SureMemory + q.Engine.SharedMemory + q.Engine.FooterBytes + q.Engine.StateBytes
}

// validate fills in what follows from other settings: files stay for grace after they were merged.
func (q *Query) validate(grace time.Duration) error {
	if q.Engine.MaxTime == 0 {
		q.Engine.MaxTime = min(time.Minute, grace/2)
	}
	errs := []error{q.Engine.Validate(), q.HTTP.Validate()}
	if q.Engine.MaxTime >= grace {
		errs = append(errs, fmt.Errorf("max_time: %s is not below compactor.query_grace, %s: files would be deleted that a query still reads", q.Engine.MaxTime, grace))
	}
	return errors.Join(errs...)
}
