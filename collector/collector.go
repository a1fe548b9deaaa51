// Package collector publishes the state of tables as Prometheus metrics. Each
// group of metrics is a file, with the descriptions beside the numbers.
package collector

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iceberg-exporter/iceberg_exporter/refresh"
)

// group is a group of metrics about tables.
type group interface {
	// collect sends the metrics of a table at one moment. Groups other than
	// status are asked only for tables with a measurement.
	collect(e emitter, t refresh.Table, now time.Time)
}

// Tables collects the metrics of tables and of their catalogs. Every metric is
// made anew from the state at the moment of collection.
type Tables struct {
	snapshot func() refresh.Snapshot
	metrics  []*descriptions
	status   *status
	catalogs *catalogs
	groups   []group
	stored   *stored
}

// NewTables returns a collector of the tables that snapshot returns.
func NewTables(snapshot func() refresh.Snapshot) *Tables {
	c := &Tables{snapshot: snapshot}
	describe := func(scope Scope, title string) *descriptions {
		d := &descriptions{scope: scope, group: title}
		c.metrics = append(c.metrics, d)
		return d
	}
	c.status = newStatus(describe(PerTable, "Reading a table"))
	c.catalogs = newCatalogs(describe(PerCatalog, "Catalogs"))
	thresholds := newThresholds(describe(PerTable, "Thresholds"))
	c.groups = []group{
		newIdentity(describe(PerTable, "Identity and writer settings")),
		thresholds,
		newDataFiles(describe(PerTable, "Data files of the current snapshot")),
		newDeleteFiles(describe(PerTable, "Delete files of the current snapshot")),
		newMetadataFiles(describe(PerTable, "Metadata")),
		newHistory(describe(PerTable, "History")),
		newPredictions(describe(PerTable, "What maintenance would do")),
	}
	c.stored = newStored(describe(PerTable, "Storage and orphans"))
	return c
}

// Metrics describes all metrics, in the order of the documentation.
func (c *Tables) Metrics() []*Metric {
	var all []*Metric
	for _, d := range c.metrics {
		all = append(all, d.metrics...)
	}
	return all
}

// Describe implements prometheus.Collector.
func (c *Tables) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.metrics {
		d.describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (c *Tables) Collect(ch chan<- prometheus.Metric) {
	s := c.snapshot()
	for _, catalog := range s.Catalogs {
		c.catalogs.collect(emitter{ch: ch, base: []string{valid(catalog.Name)}}, catalog)
	}
	seen := map[[3]string]bool{}
	for _, t := range s.Tables {
		labels := [3]string{valid(t.Key.Catalog), valid(t.Key.Namespace), valid(t.Key.Name)}
		if seen[labels] {
			// Two names that differ only in what is not UTF-8, or in how dots
			// divide them: one series cannot tell of both, and a second would
			// fail the whole scrape.
			continue
		}
		seen[labels] = true
		e := emitter{ch: ch, base: labels[:]}
		c.status.collect(e, t, s.Time)
		c.stored.collect(e, t, s.Time)
		if t.Measurement == nil {
			continue
		}
		for _, g := range c.groups {
			g.collect(e, t, s.Time)
		}
	}
}

// seconds is a moment in Unix seconds.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// moment sends a moment that may not be known.
func (e emitter) moment(m *Metric, t *time.Time) {
	if t != nil {
		e.send(m, seconds(*t))
	}
}
