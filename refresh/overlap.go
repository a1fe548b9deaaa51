package refresh

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/go-kit/log/level"

	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

// placed is a table and where it is.
type placed struct {
	*table
	root     string
	endpoint string
}

// overlaps finds the tables whose location is another table's, or in it or
// around it, as far as locations are known. Each is told of once.
func (f *Fleet) overlaps() map[*table]Key {
	locations := map[*table]string{}
	scanned := false
	for _, c := range f.current() {
		for _, t := range c.list() {
			t.mu.Lock()
			locations[t] = t.location
			scanned = scanned || t.scan.last.Done
			t.mu.Unlock()
		}
	}
	if !scanned {
		return nil // There are no figures to hold back.
	}
	var all []placed
	endpoints := map[string]bool{}
	for t, location := range locations {
		if location == "" {
			continue
		}
		p := placed{table: t, root: uri.LocationOf(location).Root()}
		p.endpoint = strings.TrimRight(t.catalog.client.Config().Properties[endpointProperty(location)], "/")
		endpoints[p.endpoint] = true
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b placed) int {
		return cmp.Or(strings.Compare(a.root, b.root), strings.Compare(a.key.String(), b.key.String()))
	})
	shared := map[*table]Key{}
	for _, endpoint := range slices.Sorted(maps.Keys(endpoints)) {
		share(shared, all, endpoint)
	}
	for t, with := range shared {
		t.tellShared(with)
	}
	return shared
}

// endpointProperty names the property that tells stores apart whose buckets may
// have the same names. Where it is not set, the environment or the catalog decides.
func endpointProperty(location string) string {
	switch uri.Scheme(location) {
	case "s3", "s3a", "s3n":
		return "s3.endpoint"
	case "gs":
		return "gcs.endpoint"
	case "abfs", "abfss", "wasb", "wasbs":
		return "adls.endpoint"
	default:
		return ""
	}
}

// share finds the tables, in the order of their roots, that share a location in
// the store of an endpoint. Those of no known endpoint may be in any.
func share(shared map[*table]Key, all []placed, endpoint string) {
	var around []placed
	for _, p := range all {
		if p.endpoint != endpoint && p.endpoint != "" {
			continue
		}
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
