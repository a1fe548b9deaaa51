package maintenance_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/maintenance"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// The tables are looked at on the day 100; a snapshot's age is in days.
const days = 24 * 60 * 60 * 1000

var now = time.UnixMilli(100 * days)

func snap(id, parent int, age float64) values {
	s := values{"snapshot-id": id, "timestamp-ms": now.UnixMilli() - int64(age*days), "manifest-list": "m"}
	if parent != 0 {
		s["parent-snapshot-id"] = parent
	}
	return s
}

func with(chain []any, more ...any) []any { return slices.Concat(chain, more) }

func ref(kind string, id int, more values) values {
	r := values{"type": kind, "snapshot-id": id}
	maps.Copy(r, more)
	return r
}

func TestExpireSnapshots(t *testing.T) {
	// chain is a history of one commit a day: 1 is 9 days old, 10 is of now.
	var chain []any
	for id := 1; id <= 10; id++ {
		chain = with(chain, snap(id, id-1, float64(10-id)))
	}
	type ids = []metadata.SnapshotID
	for name, c := range map[string]struct {
		snapshots  []any
		refs       values
		properties map[string]string
		want       ids
		refsGone   []string
	}{
		"no snapshot": {},
		"5 days":      {chain, values{}, nil, ids{1, 2, 3, 4}, nil},
		"at the cut-off, and a millisecond before": {
			[]any{
				values{"snapshot-id": 1, "timestamp-ms": now.UnixMilli() - 5*days - 1},
				values{"snapshot-id": 2, "parent-snapshot-id": 1, "timestamp-ms": now.UnixMilli() - 5*days},
				snap(10, 2, 0),
			}, values{}, nil, ids{1}, nil,
		},
		"the table's age":             {chain, values{}, map[string]string{"history.expire.max-snapshot-age-ms": "172800000"}, ids{1, 2, 3, 4, 5, 6, 7}, nil},
		"the table's number":          {chain, values{}, map[string]string{"history.expire.min-snapshots-to-keep": "8"}, ids{1, 2}, nil},
		"more than there are":         {chain, values{}, map[string]string{"history.expire.min-snapshots-to-keep": "80"}, nil, nil},
		"the current one always":      {[]any{snap(9, 0, 80), snap(10, 9, 70)}, values{}, nil, ids{9}, nil},
		"up to the first too old":     {[]any{snap(1, 0, 1), snap(2, 1, 6), snap(10, 2, 0)}, values{}, nil, ids{1, 2}, nil},
		"a tag":                       {chain, values{"t": ref("tag", 2, nil)}, nil, ids{1, 3, 4}, nil},
		"a tag at its greatest age":   {chain, values{"t": ref("tag", 2, values{"max-ref-age-ms": 8 * days})}, nil, ids{1, 3, 4}, nil},
		"a tag beyond":                {chain, values{"t": ref("tag", 2, values{"max-ref-age-ms": 8*days - 1})}, nil, ids{1, 2, 3, 4}, []string{"t"}},
		"the table's age of refs":     {chain, values{"t": ref("tag", 2, nil)}, map[string]string{"history.expire.max-ref-age-ms": "691199999"}, ids{1, 2, 3, 4}, []string{"t"}},
		"the ref's own before it":     {chain, values{"t": ref("tag", 2, values{"max-ref-age-ms": 8 * days})}, map[string]string{"history.expire.max-ref-age-ms": "1"}, ids{1, 3, 4}, nil},
		"main has no age":             {[]any{snap(10, 0, 80)}, values{"main": ref("branch", 10, values{"max-ref-age-ms": 1})}, nil, nil, nil},
		"main's own settings":         {chain, values{"main": ref("branch", 10, values{"max-snapshot-age-ms": 2 * days, "min-snapshots-to-keep": 2})}, nil, ids{1, 2, 3, 4, 5, 6, 7}, nil},
		"a branch's settings":         {chain, values{"b": ref("branch", 4, values{"max-snapshot-age-ms": 7 * days, "min-snapshots-to-keep": 1})}, nil, ids{1, 2}, nil},
		"a branch's number":           {chain, values{"b": ref("branch", 4, values{"min-snapshots-to-keep": 2})}, nil, ids{1, 2}, nil},
		"a branch's own line":         {with(chain, snap(11, 4, 5.5), snap(12, 11, 3)), values{"b": ref("branch", 12, nil)}, nil, ids{1, 2, 3, 4, 11}, nil},
		"a removed branch's snapshot": {with(chain, snap(11, 4, 5.5), snap(12, 11, 3)), values{"b": ref("branch", 12, values{"max-ref-age-ms": 1})}, nil, ids{1, 2, 3, 4, 11}, []string{"b"}},
		// Nothing leads to 11 and 12: their own age counts.
		"no branch":                   {with(chain, snap(11, 10, 5), snap(12, 10, 5.1)), values{}, nil, ids{1, 2, 3, 4, 12}, nil},
		"a tag's ancestors":           {with(chain, snap(11, 10, 4), snap(12, 11, 3)), values{"t": ref("tag", 12, nil)}, nil, ids{1, 2, 3, 4}, nil},
		"a ref to nothing":            {chain, values{"t": ref("tag", 99, nil)}, nil, ids{1, 2, 3, 4}, []string{"t"}},
		"a lost parent":               {[]any{snap(10, 9, 0), snap(8, 7, 8)}, values{}, nil, ids{8}, nil},
		"a branch that keeps longer":  {chain, values{"b": ref("branch", 10, values{"max-snapshot-age-ms": 8 * days}), "c": ref("branch", 10, values{"max-snapshot-age-ms": 1})}, nil, ids{1}, nil},
		"a branch that keeps more":    {chain, values{"b": ref("branch", 9, values{"min-snapshots-to-keep": 8}), "c": ref("branch", 9, values{"max-snapshot-age-ms": 9 * days / 2})}, nil, ids{1}, nil},
		"circular parents":            {[]any{snap(8, 9, 9), snap(9, 8, 8), snap(10, 9, 0)}, values{}, map[string]string{"history.expire.min-snapshots-to-keep": "9"}, nil, nil},
		"an age of no end":            {chain, values{}, map[string]string{"history.expire.max-snapshot-age-ms": "9223372036854775807"}, nil, nil},
		"no collection of garbage":    {chain, values{}, map[string]string{"gc.enabled": "false"}, nil, nil},
		"a property that is no count": {chain, values{}, map[string]string{"history.expire.min-snapshots-to-keep": "3000000000"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			more := values{"snapshots": c.snapshots, "refs": c.refs, "current-snapshot-id": 10}
			if c.snapshots == nil {
				more["current-snapshot-id"] = nil
			}
			got := maintenance.ExpireSnapshots(table(t, whole, c.properties, more), now)
			if !reflect.DeepEqual(got.Snapshots, c.want) || !reflect.DeepEqual(got.Refs, c.refsGone) {
				t.Errorf("got %+v, want %v and %v", got, c.want, c.refsGone)
			}
			if refuses := name == "no collection of garbage" || name == "a property that is no count"; refuses != (got.Refusal != "") {
				t.Errorf("refusal %q", got.Refusal)
			}
		})
	}
}

func TestOldestPin(t *testing.T) {
	snapshots := []any{snap(1, 0, 9), snap(2, 1, 8), snap(10, 2, 0)}
	for name, c := range map[string]struct {
		refs       values
		properties map[string]string
		want       string
	}{
		"main is none":          {values{"main": ref("branch", 1, nil)}, nil, ""},
		"the oldest":            {values{"b": ref("branch", 2, nil), "t": ref("tag", 1, nil)}, nil, "t"},
		"the first by name":     {values{"y": ref("branch", 1, nil), "x": ref("tag", 1, nil)}, nil, "x"},
		"not one to be removed": {values{"b": ref("branch", 2, nil), "t": ref("tag", 1, values{"max-ref-age-ms": 1})}, nil, "b"},
		"unless it never is":    {values{"b": ref("branch", 2, nil), "t": ref("tag", 1, values{"max-ref-age-ms": 1})}, map[string]string{"gc.enabled": "false"}, "t"},
		"a ref to nothing":      {values{"t": ref("tag", 99, nil)}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := maintenance.OldestPin(table(t, whole, c.properties, values{"snapshots": snapshots, "refs": c.refs, "current-snapshot-id": 10}), now)
			if got.Ref.Name != c.want || ok != (c.want != "") {
				t.Errorf("got %+v", got)
			}
			if age := now.Sub(got.Committed); c.want == "t" && age != 9*24*time.Hour {
				t.Errorf("of %v ago", age)
			}
		})
	}
}
