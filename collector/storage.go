package collector

import (
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/refresh"
	"github.com/iceberg-exporter/iceberg_exporter/storage"
)

// stored tells where a table's bytes are.
type stored struct {
	files, bytes                           *Metric
	orphans, orphanBytes, ratio            *Metric
	missing, expirable                     *Metric
	success, duration, lastSuccess, period *Metric
}

func newStored(d *descriptions) *stored {
	return &stored{
		files: d.gauge("iceberg_table_storage_files", "Files under the table's location, once each, by state: live (content files of the current snapshot), historical (content files that only other retained snapshots have), metadata (metadata.json, lists, manifests, statistics), recent (unreferenced, but younger than orphan_scan.older_than), orphan, hidden (unreferenced, under a name that starts with _ or a dot, which remove_orphan_files leaves alone). Only where orphan scanning is on.", "state"),
		bytes: d.gauge("iceberg_table_storage_bytes", "Total size of the files under the table's location, by state.", "state"),
		orphans: d.gauge("iceberg_table_orphan_files",
			"Files that remove_orphan_files would delete. Absent where the table's location is shared with another table, or the procedure could not tell."),
		orphanBytes: d.gauge("iceberg_table_orphan_bytes", "Total size of the files that remove_orphan_files would delete."),
		ratio:       d.gauge("iceberg_table_orphan_ratio", "Orphan bytes over all bytes under the table's location."),
		missing: d.gauge("iceberg_table_missing_files",
			"Files of the current snapshot that are not in storage: queries will fail. Only those are looked for that belong under the table's location. Absent where an inventory is read instead of listing."),
		expirable: d.gauge("iceberg_table_expirable_bytes",
			"Total size of the content files that only snapshots have that expire_snapshots would expire with its default options. Absent where some of them lie outside of the table's location, or the procedure would refuse."),
		success:     d.gauge("iceberg_table_orphan_scan_success", "Whether the last scan of the table's storage succeeded (1) or not (0). While scans fail, the figures are those of the last good one."),
		duration:    d.gauge("iceberg_table_orphan_scan_duration_seconds", "How long the last scan of the table's storage took."),
		lastSuccess: d.gauge("iceberg_table_last_orphan_scan_timestamp_seconds", "When the last good scan of the table's storage began, or, where an inventory is read, when its report was made."),
		period:      d.gauge("iceberg_table_orphan_scan_interval_seconds", "The configured orphan_scan.interval: how often the table's storage is scanned. Absent where orphan scanning is off."),
	}
}

func (s *stored) collect(e emitter, t refresh.Table, _ time.Time) {
	settings := t.Settings.OrphanScan
	if !settings.Enabled {
		return
	}
	e.send(s.period, settings.Interval.Seconds())
	scan := t.Scan
	if !scan.Done {
		return
	}
	e.flag(s.success, scan.Succeeded)
	e.send(s.duration, scan.Duration.Seconds())
	if scan.Result == nil {
		return
	}
	e.send(s.lastSuccess, seconds(scan.Result.Time))
	figures := scan.Result.Figures
	orphans, known := scan.Orphans()
	for _, state := range storage.States() {
		if known || state.IsReferenced() {
			usage := figures.Usage[state]
			e.count(s.files, usage.Files, string(state))
			e.count(s.bytes, usage.Bytes, string(state))
		}
	}
	e.known(s.missing, figures.Missing)
	e.known(s.expirable, figures.ExpirableBytes)
	if !known {
		return
	}
	e.count(s.orphans, orphans.Files)
	e.count(s.orphanBytes, orphans.Bytes)
	if total := figures.Total().Bytes; total > 0 {
		e.send(s.ratio, float64(orphans.Bytes)/float64(total))
	}
}
