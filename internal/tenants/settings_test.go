package tenants

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
)

func tableOf(own map[event.TenantID]Values) *Table {
	return &Table{bucket: time.Hour, builtin: Builtin(), own: own}
}

// with is the values that a list of name=text makes.
func with(t *testing.T, pairs ...string) (v Values) {
	t.Helper()
	for _, p := range pairs {
		name, text, _ := strings.Cut(p, "=")
		var err error
		if v, err = v.Set(name, text); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// TestWhatHolds: own values, then the default's, then the built-in ones.
func TestWhatHolds(t *testing.T) {
	table := tableOf(map[event.TenantID]Values{
		"":      with(t, "retention=30d", "sort_key=host,service,status", "key_columns=2", "max_columns=50"),
		"acme":  with(t, "retention=7d", "sort_key=host", "bloom_columns="),
		"wayne": with(t, "letters_retention=2w", "target_bytes=64MiB", "sort_key=timestamp", "retention=forever"),
	})
	def := Settings{
		Retention: 30 * day, LettersRetention: 30 * day, SortKey: []string{"host", "service", "status", "timestamp"}, KeyColumns: 2,
		BloomColumns: Builtin().BloomColumns, TargetBytes: 256 << 20, MaxColumns: 50,
	}
	acme := def
	acme.Retention, acme.LettersRetention, acme.SortKey, acme.KeyColumns, acme.BloomColumns = 7*day, 7*day, []string{"host", "timestamp"}, 1, []string{}
	wayne := def
	wayne.Retention, wayne.LettersRetention, wayne.SortKey, wayne.KeyColumns, wayne.TargetBytes = 0, 14*day, []string{"timestamp"}, 0, 64<<20
	for tenant, want := range map[event.TenantID]Settings{"": def, "stranger": def, "acme": acme, "wayne": wayne} {
		if got := table.Get(tenant); !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n got %+v\nwant %+v", tenant, got, want)
		}
	}
	if got := tableOf(nil).Get("acme"); !reflect.DeepEqual(got, Builtin()) {
		t.Errorf("nothing set: %+v", got)
	}
	// An own key is told apart by all its paths unless somebody says how many.
	three := tableOf(map[event.TenantID]Values{"acme": with(t, "sort_key=a,b,c,timestamp")})
	if got := three.Get("acme"); got.KeyColumns != 3 || len(got.SortKey) != 4 {
		t.Errorf("a key of three paths: %+v", got)
	}
}

func TestWhatIsRefused(t *testing.T) {
	long := strings.Repeat("x", 257)
	for _, tc := range []struct {
		tenant event.TenantID
		set    string
		want   string // "": accepted
	}{
		{"acme", "retention=1h", ""},
		{"acme", "retention=forever", ""},
		{"acme", "retention=0s", ""},
		{"", "letters_retention=36500d", ""},
		{"acme", "retention=59m", "not a whole number of data buckets of 1h"},
		{"acme", "retention=90m", "not a whole number of data buckets of 1h"},
		{"", "letters_retention=90m", "letters_retention: 1h30m0s is not a whole number"},
		{"acme", "retention=36501d", "more than 36500d"},
		{"acme", "retention=99999999999999d", "more than 36500d"},
		{"acme", "key_columns=8", ""},
		{"acme", "key_columns=9", "not from 1 to 8"},
		{"acme", "key_columns=0", "not from 1 to 8"},
		{"acme", "sort_key=a;key_columns=2", "not from 1 to 1"},
		{"acme", "sort_key=;key_columns=1", "not from 1 to 0"},
		{"acme", "sort_key=a,b,a", `"a" stands twice`},
		{"acme", "sort_key=a,timestamp,b", `"timestamp" stands at the end of every key`},
		{"acme", "sort_key=a,,b", "name 2 has 0 bytes"},
		{"acme", "sort_key=" + long, "name 1 has 257 bytes"},
		{"acme", "sort_key=a\x00", "not printable"},
		{"acme", "sort_key=a\xff", "not printable"},
		{"acme", "sort_key=1,2,3,4,5,6,7,8,9", "9 names, at most 8"},
		{"acme", "bloom_columns=id,id", `bloom_columns: "id" stands twice`},
		{"acme", "target_bytes=1MiB", ""},
		{"acme", "target_bytes=4GiB", ""},
		{"acme", "target_bytes=1MB", "target_bytes: 1000000 is not from"},
		{"acme", "target_bytes=4294967297", "is not from"},
		{"acme", "max_columns=10000", ""},
		{"acme", "max_columns=0", "is not from 1 to 10000"},
		{"acme", "max_columns=10001", "is not from 1 to 10000"},
		{"a/b", "max_columns=1", "bad tenant"},
		{"..", "max_columns=1", "bad tenant"},
		{event.Unroutable, "letters_retention=1d", ""},
		{event.Unroutable, "retention=1d", "only letters_retention"},
	} {
		err := tableOf(nil).set(tc.tenant, with(t, strings.Split(tc.set, ";")...))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%q %s: %v, want %q", tc.tenant, tc.set, err, tc.want)
		}
	}
	for _, text := range []string{"retention=soon", "retention=-1h", "retention=d", "retention=", "key_columns=two", "target_bytes=many", "target_bytes=-1", "target_bytes=9999999999GiB", "colour=red"} {
		name, value, _ := strings.Cut(text, "=")
		if _, err := (Values{}).Set(name, value); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := (Values{}).Unset("colour"); err == nil || !strings.Contains(err.Error(), "retention") {
		t.Errorf("unset of nothing: %v", err)
	}
}

// TestText: what is shown can be set again, and gives the same.
func TestText(t *testing.T) {
	for _, s := range []Settings{
		Builtin(),
		{Retention: 36 * time.Hour, LettersRetention: 14 * day, SortKey: []string{"a b", "c", "timestamp"}, KeyColumns: 1, BloomColumns: []string{}, TargetBytes: 5_000_001, MaxColumns: 7},
		{Retention: 90 * time.Minute, LettersRetention: 0, SortKey: []string{"timestamp"}, BloomColumns: []string{"x"}, TargetBytes: 3 << 30, MaxColumns: 1},
	} {
		var v Values
		for _, name := range Names() {
			if name == "key_columns" && s.KeyColumns == 0 {
				continue
			}
			var err error
			if v, err = v.Set(name, s.Show(name)); err != nil {
				t.Fatal(err)
			}
			if !v.Has(name) || Doc(name) == "" {
				t.Errorf("%s: set %v, doc %q", name, v.Has(name), Doc(name))
			}
		}
		if got := resolve(v, Values{}, Settings{}); !reflect.DeepEqual(got, s) {
			t.Errorf("\n got %+v\nwant %+v", got, s)
		}
		for _, name := range Names() {
			v, _ = v.Unset(name)
			if v.Has(name) {
				t.Errorf("%s is still set", name)
			}
		}
		if !v.IsZero() {
			t.Errorf("left: %+v", v)
		}
	}
}
