package refresh

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-kit/log/level"

	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

// overlaps finds the tables whose location is another table's, or in it or
// around it, as far as locations are known. Each is told of once.
func (f *Fleet) overlaps() map[*table]Key {
	type placed struct {
		*table
		root string
	}
	var all []placed
	scanned := false
	for _, c := range f.current() {
		for _, t := range c.list() {
			t.mu.Lock()
			location := t.location
			scanned = scanned || t.scan.last.Done
			t.mu.Unlock()
			if location != "" {
				all = append(all, placed{t, uri.LocationOf(location).Root()})
			}
		}
	}
	if !scanned {
		return nil
	}
	slices.SortFunc(all, func(a, b placed) int {
		return cmp.Or(strings.Compare(a.root, b.root), strings.Compare(a.key.String(), b.key.String()))
	})
	shared := map[*table]Key{}
	var around []placed
	for _, p := range all {
		for len(around) > 0 && !strings.HasPrefix(p.root, around[len(around)-1].root) {
			around = around[:len(around)-1]
		}
		if len(around) > 0 {
			outer := around[len(around)-1]
			shared[p.table] = outer.key
			if _, ok := shared[outer.table]; !ok {
				shared[outer.table] = p.key
			}
		}
		around = append(around, p)
	}
	for t, with := range shared {
		t.tellShared(with)
	}
	return shared
}

// tellShared tells once that there are no figures of orphans.
func (t *table) tellShared(with Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.scan.toldShared || !t.scan.last.Done {
		return
	}
	t.scan.toldShared = true
	level.Warn(t.scanReport.logger).Log("msg", "the table's location is shared with another table, so there are no figures of orphans",
		"location", t.location, "other", with.String(),
		"hint", "remove_orphan_files on one of them would delete files of the other: give each table a location of its own")
}
