package collector

import (
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/refresh"
)

// status tells whether a table's other metrics can be believed.
type status struct {
	up, duration, lastSuccess *Metric
}

func newStatus(d *descriptions) *status {
	return &status{
		up: d.gauge("iceberg_table_up",
			"Whether the last refresh of the table succeeded (1) or not (0). Always present for a configured table."),
		duration: d.gauge("iceberg_table_refresh_duration_seconds",
			"How long the last refresh of the table took."),
		lastSuccess: d.gauge("iceberg_table_last_refresh_success_timestamp_seconds",
			"When the table's figures were last right. They are cached: an unchanged table is not measured again, and while refreshes fail the last good figures stand in for scrape.max_staleness."),
	}
}

func (s *status) collect(e emitter, t refresh.Table, _ time.Time) {
	e.flag(s.up, t.Up)
	if t.Refreshed {
		e.send(s.duration, t.Duration.Seconds())
	}
	if !t.LastSuccess.IsZero() {
		e.send(s.lastSuccess, seconds(t.LastSuccess))
	}
}

// catalogs tells of the catalogs.
type catalogs struct {
	up, tables *Metric
}

func newCatalogs(d *descriptions) *catalogs {
	return &catalogs{
		up: d.gauge("iceberg_catalog_up",
			"Whether the catalog answered when it was last listed or asked for a table (1) or not (0)."),
		tables: d.gauge("iceberg_catalog_tables",
			"Tables of the catalog that the configuration matches."),
	}
}

func (c *catalogs) collect(e emitter, catalog refresh.Catalog) {
	e.flag(c.up, catalog.Up)
	e.count(c.tables, int64(catalog.Tables))
}
