package objstore_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/internal/objstore"
)

func TestMetrics(t *testing.T) {
	ctx := t.Context()
	registry := prometheus.NewRegistry()
	f := objstore.NewFault(objstore.NewMemory())
	s := objstore.Instrument(f, registry)
	do := func(err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Fatalf("error %v, want %v", err, want)
		}
	}
	do(s.Put(ctx, "k", make([]byte, 100)), nil)
	do(s.PutIfAbsent(ctx, "k", make([]byte, 50)), objstore.ErrExists)
	_, err := s.Get(ctx, "k")
	do(err, nil)
	_, err = s.Get(ctx, "absent")
	do(err, objstore.ErrNotFound)
	_, err = s.GetRange(ctx, "k", 90, 20)
	do(err, nil)
	f.Add(objstore.Rule{Op: objstore.OpPut, Effect: objstore.FailBefore, Err: objstore.ErrUnavailable},
		objstore.Rule{Op: objstore.OpDelete, Effect: objstore.FailBefore})
	do(s.Put(ctx, "k", nil), objstore.ErrUnavailable)
	do(s.Delete(ctx, "k"), objstore.ErrInjected)
	for range s.List(ctx, "", "") {
		break
	}
	got := gather(t, registry)
	want := map[string]float64{
		"togo_objstore_requests_total put ok": 1, "togo_objstore_requests_total put unavailable": 1,
		"togo_objstore_requests_total put_if_absent exists": 1, "togo_objstore_requests_total get ok": 1,
		"togo_objstore_requests_total get not_found": 1, "togo_objstore_requests_total get_range ok": 1,
		"togo_objstore_requests_total delete error": 1, "togo_objstore_requests_total list ok": 1,
		"togo_objstore_bytes_total put": 100, "togo_objstore_bytes_total get": 100, "togo_objstore_bytes_total get_range": 10,
		"togo_objstore_request_duration_seconds put": 2, "togo_objstore_request_duration_seconds get": 2,
	}
	var wrong []string
	for name, value := range want {
		if got[name] != value {
			wrong = append(wrong, name)
		}
	}
	if slices.Sort(wrong); len(wrong) > 0 {
		t.Fatalf("wrong: %q in %v", wrong, got)
	}
}

func TestMetricsOfUploads(t *testing.T) {
	ctx := t.Context()
	registry := prometheus.NewRegistry()
	s := objstore.Instrument(openDir(t), registry)
	for i, end := range []func(objstore.Upload) error{
		func(u objstore.Upload) error { return errors.Join(u.Finish(ctx), u.Cancel(ctx)) },
		func(u objstore.Upload) error { return errors.Join(u.Cancel(ctx), u.Cancel(ctx)) },
	} {
		u, err := objstore.Create(ctx, s, "k")
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := u.Write(make([]byte, 10*(i+1))); err != nil {
				t.Fatal(err)
			}
		}
		if err := end(u); err != nil {
			t.Fatal(err)
		}
	}
	for range objstore.PendingUploads(ctx, s, "") {
		t.Fatal("a directory has none")
	}
	if err := objstore.AbandonUpload(ctx, s, objstore.PendingUpload{Key: "k", ID: "1"}); err != nil {
		t.Fatal(err)
	}
	got := gather(t, registry)
	for name, want := range map[string]float64{
		"togo_objstore_requests_total upload ok": 1, "togo_objstore_requests_total upload canceled": 1,
		"togo_objstore_bytes_total upload": 30, "togo_objstore_request_duration_seconds upload": 2,
		"togo_objstore_requests_total list_uploads ok": 1, "togo_objstore_requests_total abandon_upload ok": 1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

// gather is each metric's value or number of observations, by its name and labels.
func gather(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			got[name] = metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return got
}
