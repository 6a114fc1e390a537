package kafka

import "context"

// Reader reads chosen partitions of one incarnation of a topic, from exact
// offsets, without a consumer group. It never moves a position by itself: what
// it can't read from the asked offset on it reports (Batch.Err), and leaves the
// partition alone until it is added again.
//
// Its methods may be called by any goroutine; Poll by one at a time.
type Reader struct{}

// Add begins reading a partition at offset. leaderEpoch is that of the record
// before offset (-1: unknown); it lets the reader notice a history that was cut.
// Adding a partition again starts it over. Errors come out of Poll.
func (r *Reader) Add(partition int32, offset int64, leaderEpoch int32) { panic("x") }

// Remove ends the reading of a partition; records of it that were fetched are dropped.
func (r *Reader) Remove(partition int32) { panic("x") }

// Pause stops fetching partitions; Poll returns nothing of them until Resume.
func (r *Reader) Pause(partitions ...int32) { panic("x") }

// Resume undoes Pause.
func (r *Reader) Resume(partitions ...int32) { panic("x") }

// Poll waits for records or errors. It returns an error only if ctx ended or
// the reader was closed.
func (r *Reader) Poll(ctx context.Context) ([]Batch, error) { panic("x") }

// Close ends the reader; a Poll that waits returns.
func (r *Reader) Close() { panic("x") }

// NewReader makes a reader of the topic that info names (Client.Topic).
func (c *Client) NewReader(info TopicInfo, cfg ReaderConfig) (*Reader, error) { panic("x") }
