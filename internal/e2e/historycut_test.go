package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/togodb/togo/internal/e2e/tool"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/router"
)

// disk is a broker whose data lies in a folder: an unclean election, or a disk that was lost, takes a
// topic's partitions back to what they were.
type disk struct {
	*kafkatest.Cluster
	t    *testing.T
	dir  string
	port int
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	_, port, err := net.SplitHostPort(addr(t))
	if err != nil {
		t.Fatal(err)
	}
	d := &disk{t: t, dir: t.TempDir()}
	d.port, _ = strconv.Atoi(port)
	d.start()
	return d
}

func (d *disk) start() {
	d.Cluster = kafkatest.New(d.t, kfake.DataDir(d.dir), kfake.Ports(d.port))
}

// restartOffsets are what restart adds to each partition: an aborted record and its marker.
const restartOffsets = 2

// restart starts the broker again. The new leaders of a topic's partitions begin with offsets that hold no record, for this broker
// tells of an epoch only when something was written in it.
func (d *disk) restart(topic string) {
	d.t.Helper()
	d.start()
	for partition := range d.folders(topic) {
		d.Transaction(false, topic, int32(partition), "aborted")
	}
}

// copy keeps the partitions of a topic as they are now; they go on under a leader that was elected later.
func (d *disk) copy(topic string, elections int) (saved string) {
	d.t.Helper()
	d.Close()
	defer d.restart(topic)
	saved = d.t.TempDir()
	for _, folder := range d.folders(topic) {
		if err := os.CopyFS(filepath.Join(saved, filepath.Base(folder)), os.DirFS(folder)); err != nil {
			d.t.Fatal(err)
		}
		d.elect(folder, elections)
	}
	return saved
}

// elect raises the leader epoch of a partition.
func (d *disk) elect(folder string, times int) {
	d.t.Helper()
	snapshot := filepath.Join(folder, "snapshot.json")
	text, err := os.ReadFile(snapshot)
	if err != nil {
		d.t.Fatal(err)
	}
	var state map[string]any
	if err := json.Unmarshal(text, &state); err != nil {
		d.t.Fatal(err)
	}
	state["epoch"] = state["epoch"].(float64) + float64(times)
	if text, err = json.Marshal(state); err == nil {
		err = os.WriteFile(snapshot, text, 0o600)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *disk) folders(topic string) []string {
	d.t.Helper()
	found, err := filepath.Glob(filepath.Join(d.dir, "partitions", topic+"-*"))
	if err != nil || len(found) == 0 {
		d.t.Fatalf("no partitions of %s: %v", topic, err)
	}
	return found
}

// back replaces the partitions of a topic by those that were kept, under a leader that was elected since.
func (d *disk) back(topic, saved string) {
	d.t.Helper()
	d.Close()
	defer d.restart(topic)
	for _, folder := range d.folders(topic) {
		err := os.RemoveAll(folder)
		if err == nil {
			err = os.CopyFS(folder, os.DirFS(filepath.Join(saved, filepath.Base(folder))))
		}
		if err != nil {
			d.t.Fatal(err)
		}
		d.elect(folder, 1)
	}
}

// TestFault_history_cut_of_the_intake: an intake partition ends below what the routers committed. It stops and says so, until
// an operator sets the group back to where it ends; what comes there is stored, though it has the offsets, and no ids, of
// events that are gone.
func TestFault_history_cut_of_the_intake(t *testing.T) {
	p := newPath(t, event.DefaultMapping())
	d := newDisk(t)
	p.over(d.Cluster)
	lot := func(n int) [][]byte { return slices.Repeat([][]byte{[]byte(`{"no":"id"}`)}, n) }
	p.send("acme", time.Now(), lot(10)...)
	p.run()
	saved := d.copy(pathTopic, 0)
	p.kafka = d.Cluster
	p.sent, p.again = 10+restartOffsets, -restartOffsets // offsets, and what of them are no events
	p.send("acme", time.Now(), lot(5)...)
	p.run()
	d.back(pathTopic, saved)
	p.kafka = d.Cluster
	p.sent, p.again = 10+restartOffsets, 5-restartOffsets
	p.send("acme", time.Now(), lot(3)...)
	r, _, stop := p.start()
	for ctx, cancel := context.WithTimeout(t.Context(), time.Minute); ; {
		if s := r.Status().Stopped[pathTopic+"[0]"]; strings.Contains(s, "cut off") {
			t.Log(s)
			cancel()
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("status %+v", r.Status())
		case <-time.After(20 * time.Millisecond):
		}
	}
	if err := r.Ready(); err == nil {
		t.Error("ready, with a stopped partition")
	}
	stop()
	p.must(p.client.CommitGroup(t.Context(), router.DefaultConfig().Group, pathTopic, map[int32]int64{0: 10}, ""))
	v := p.run()
	if got := v.Totals(); got.Stored != 18 || got.Events != 18 {
		t.Errorf("%+v; want 18 events", got)
	}
}

// TestFault_history_cut: the shard topic's partitions end below what was committed, under a leader that was elected
// since, or on a disk that was taken back and has seen fewer elections than the history that is gone. The shards stop
// and say what is gone, other records take its offsets, and an operator accepts it: nothing is lost or double, for
// what was cut had been stored.
func TestFault_history_cut(t *testing.T) {
	for name, c := range map[string]struct {
		running   bool // the writer, meanwhile
		elections int  // before the history that is cut
	}{
		"an unclean election":   {true, 0},
		"a disk was taken back": {false, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDisk(t)
			a := newApart(t, d.Server, 1500)
			a.some(500)
			a.done()
			saved := d.copy(shardTopic, c.elections)
			a.some(500)
			a.done()
			now, err := a.send.Client().Offsets(a.ctx, shardTopic)
			a.must(err)
			before := map[int]int64{}
			_, err = a.Await(a.ctx, "offsets without records are committed, too", func(s tool.Status) bool {
				for _, shard := range s.Shards {
					before[shard.Shard] = shard.Committed
				}
				return len(before) == len(now) && !slices.ContainsFunc(s.Shards, func(shard tool.Shard) bool { return shard.Committed < now[int32(shard.Shard)].End })
			})
			a.must(err)
			if !c.running {
				a.writer.Kill()
			}
			d.back(shardTopic, saved)
			if !c.running {
				a.writer.begin()
			}
			for shard, committed := range before {
				// From where on is no more than a guess where the log does not know the epoch.
				want := fmt.Sprintf(",%d) were committed and are no longer in the log", committed)
				if s := a.awaitStopped(shard); s.LostOffsets != 0 || !strings.Contains(s.Reason, want) {
					t.Errorf("shard %d says %+v, want %q", shard, s, want)
				}
			}
			a.writer.await("readiness is red", "/ready", func(status int, body string) bool {
				return status == 503 && strings.Contains(body, "stopped (lost)")
			})
			a.some(len(a.msgs)) // other records take the offsets of those that are gone
			_, err = a.Await(a.ctx, "all is routed", tool.Status.Routed)
			a.must(err)
			for shard := range before {
				a.output("gap", fmt.Sprint(shard), "--reason", "a disk was lost", "--by", "test")
			}
			if s := a.done(); s.Totals.Lost != 0 {
				t.Errorf("%d offsets are lost, and all were stored", s.Totals.Lost)
			}
			a.writer.awaitReady()
			a.check(a.expect(a.send, a.acks, intakeTopics))
		})
	}
}
