package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/router"
	"github.com/togodb/togo/writer"
)

// The router's part makes the envelopes that the writer's part takes; they lie in a file in between:
// for each fetch the number of envelopes and its time, and for each envelope its length and its bytes.

func (o *options) envelopes() string { return filepath.Join(o.dir, "envelopes") }

// route takes the events through the router's core: three fields of each, its shard, an envelope.
func route(ctx context.Context, o *options) (figures, error) {
	w, err := newWorld(ctx, objstore.NewMemory())
	if err != nil {
		return figures{}, err
	}
	in, err := openChunks(o)
	if err != nil {
		return figures{}, err
	}
	defer in.close()
	f, err := os.Create(o.envelopes())
	if err != nil {
		return figures{}, err
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	rt := router.NewCore(router.CoreConfig{
		Config: router.DefaultConfig(), Hasher: w.hasher, Limits: w.limits(), MaxRecordBytes: 1 << 20,
	}, w.keeper.Current())
	src := event.Source{Cluster: "compare", Topic: event.TopicID{1}}
	now := begin
	rt.Step(now, router.Assigned{Partitions: []kafka.Assignment{{TopicPartition: kafka.TopicPartition{Topic: "events"}, Source: src}}})
	m := meter{figures: figures{Events: int64(o.events)}}
	var offset int64
	var ids []router.BatchID
	for more := true; more; {
		lines, err := in.next()
		if err != nil {
			return figures{}, err
		}
		inputs := fetches(lines, src, offset, now)
		if more = len(lines) > 0; !more {
			inputs = []router.Input{router.Flush{}}
		}
		offset += int64(len(lines))
		for _, input := range inputs {
			if f, ok := input.(router.Fetched); ok {
				now = f.Batch.Records[len(f.Batch.Records)-1].Timestamp
			}
			m.start()
			produced := rt.Step(now, input).Produce
			m.stop()
			if err := save(out, now, produced); err != nil {
				return figures{}, err
			}
			ids = ids[:0] // what Step returned is the core's own at its next step
			for _, p := range produced {
				ids = append(ids, p.Batch)
			}
			m.start()
			for _, id := range ids {
				rt.Step(now, router.Acked{Batch: id})
			}
			m.stop()
		}
	}
	if err := out.Flush(); err != nil {
		return figures{}, err
	}
	return m.figures, f.Close()
}

// fetches are the lines as records of the intake, some at a time, each a little after the one before.
func fetches(lines [][]byte, src event.Source, offset int64, now time.Time) (inputs []router.Input) {
	for poll := range slices.Chunk(lines, perPoll) {
		p := kafka.Batch{Topic: "events", Source: src}
		for _, line := range poll {
			now = now.Add(time.Second / eventsPerSecond)
			p.Records = append(p.Records, &kafka.Record{Topic: "events", Offset: offset, Timestamp: now, Value: line})
			offset++
		}
		p.Next, p.End = offset, offset
		inputs = append(inputs, router.Fetched{Batch: p})
	}
	return inputs
}

func save(out *bufio.Writer, now time.Time, produced []router.Produce) error {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(produced)))
	_, err := out.Write(binary.BigEndian.AppendUint64(head, uint64(now.UnixNano())))
	for _, p := range produced {
		if err == nil {
			_, err = out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(p.Value))))
		}
		if err == nil {
			_, err = out.Write(p.Value)
		}
	}
	return err
}

// fetched are the envelopes of one fetch by the writer.
type fetched struct {
	at        time.Time
	envelopes [][]byte
}

// readFetches reads the next fetches, until they have some bytes; none at the end.
func readFetches(in *bufio.Reader) (all []fetched, err error) {
	const enough = 32 << 20
	for size := 0; size < enough; {
		var head [12]byte
		if _, err := io.ReadFull(in, head[:]); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		f := fetched{at: time.Unix(0, int64(binary.BigEndian.Uint64(head[4:]))).UTC()}
		for range binary.BigEndian.Uint32(head[:4]) {
			var length [4]byte
			if _, err := io.ReadFull(in, length[:]); err != nil {
				return nil, err
			}
			body := make([]byte, binary.BigEndian.Uint32(length[:]))
			if _, err := io.ReadFull(in, body); err != nil {
				return nil, err
			}
			f.envelopes = append(f.envelopes, body)
			size += len(body)
		}
		all = append(all, f)
	}
	return all, nil
}

// write takes the envelopes through the writer's part: judged, gathered by tenant, encoded, put into a local folder and synced, committed.
func write(ctx context.Context, o *options) (figures, error) {
	root := filepath.Join(o.dir, "written")
	if err := os.RemoveAll(root); err != nil {
		return figures{}, err
	}
	store, err := objstore.OpenDir(root)
	if err != nil {
		return figures{}, err
	}
	w, err := newWorld(ctx, store)
	if err != nil {
		return figures{}, err
	}
	f, err := os.Open(o.envelopes())
	if err != nil {
		return figures{}, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	debug.SetMemoryLimit(writer.DefaultConfig().HeapBytes()) // as the program does
	wr, err := w.newShell(ctx, begin)
	if err != nil {
		return figures{}, err
	}
	m := meter{figures: figures{Events: int64(o.events)}}
	for {
		polls, err := readFetches(in)
		if err != nil {
			return figures{}, err
		}
		m.start()
		for _, p := range polls {
			if err := wr.take(p.at, p.envelopes); err != nil {
				return figures{}, err
			}
		}
		if len(polls) == 0 {
			err = wr.end()
		}
		m.stop()
		if err != nil {
			return figures{}, err
		}
		if len(polls) == 0 {
			break
		}
	}
	total, err := wr.stored()
	if err != nil {
		return figures{}, err
	}
	if total.Events != int64(o.events) {
		return figures{}, fmt.Errorf("the shard's log has %d events of %d", total.Events, o.events)
	}
	return m.figures, m.readTogo(ctx, root)
}

// readTogo reads what lies in a store of Togo's.
func (f *figures) readTogo(ctx context.Context, root string) error {
	db, err := openDuck(ctx, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	return f.readBack(ctx, db, filepath.Join(root, "data", "*", "*", "*.parquet"), "timestamp, id")
}
