package collector

import (
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/refresh"
)

// thresholds publishes the configured limits, so that one set of alert rules
// serves tables with different ones.
type thresholds struct{ limit *Metric }

func newThresholds(d *descriptions) *thresholds {
	return &thresholds{limit: d.gauge("iceberg_table_threshold",
		"The configured limit that alert rules compare with. A limit that is switched off has no series.", "threshold")}
}

func (l *thresholds) collect(e emitter, t refresh.Table, _ time.Time) {
	for name, value := range t.Settings.Thresholds.Values() {
		e.send(l.limit, value, name)
	}
}
