package collector

import (
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/refresh"
)

// history tells of snapshots, references and maintenance.
type history struct {
	snapshots, operations, refs                 *Metric
	currentAt, age, oldestAt, maxAge, oldestRef *Metric
	compactedAt, appends, manifestsAt           *Metric
	window, commits, recentFiles, recentBytes   *Metric
}

func newHistory(d *descriptions) *history {
	return &history{
		snapshots:   d.gauge("iceberg_table_snapshots", "Retained snapshots."),
		operations:  d.gauge("iceberg_table_snapshot_operations", "Retained snapshots by what they did: append, overwrite, replace, delete, or other.", "operation"),
		refs:        d.gauge("iceberg_table_refs", "References to snapshots: branch or tag.", "ref_type"),
		currentAt:   d.gauge("iceberg_table_current_snapshot_timestamp_seconds", "When the current snapshot was committed. Absent without one."),
		age:         d.gauge("iceberg_table_snapshot_age_seconds", "How long ago the current snapshot was committed. Absent without one."),
		oldestAt:    d.gauge("iceberg_table_oldest_snapshot_timestamp_seconds", "When the oldest retained snapshot was committed. Absent without one."),
		maxAge:      d.gauge("iceberg_table_max_snapshot_age_seconds", "The table's own expiry policy: history.expire.max-snapshot-age-ms, or its default."),
		oldestRef:   d.gauge("iceberg_table_oldest_ref_snapshot_timestamp_seconds", "When the oldest snapshot was committed that a tag, or a branch other than main, points at. Absent without one."),
		compactedAt: d.gauge("iceberg_table_last_compaction_timestamp_seconds", "When the latest retained data compaction on main was committed. Absent when none is retained, which is not the same as never."),
		appends:     d.gauge("iceberg_table_appends_since_compaction", "Retained append snapshots on main after the latest retained data compaction, or all of them when none is retained."),
		manifestsAt: d.gauge("iceberg_table_last_manifest_rewrite_timestamp_seconds", "When the latest retained rewrite of manifests on main was committed. Absent when none is retained."),
		window:      d.gauge("iceberg_table_recent_window_seconds", "The configured recent_window: how far back a commit counts as recent."),
		commits:     d.gauge("iceberg_table_recent_commits", "Commits on main within the recent window, other than replaces."),
		recentFiles: d.gauge("iceberg_table_recent_added_data_files", "Data files that the recent commits added, by their summaries. Absent where a summary does not say."),
		recentBytes: d.gauge("iceberg_table_recent_added_bytes", "Bytes that the recent commits added, by their summaries. Absent where a summary does not say."),
	}
}

func (h *history) collect(e emitter, t refresh.Table, now time.Time) {
	figures := t.Measurement.History
	e.count(h.snapshots, int64(figures.Snapshots))
	for operation, n := range figures.Operations {
		e.count(h.operations, int64(n), string(operation))
	}
	e.count(h.refs, int64(figures.Branches), "branch")
	e.count(h.refs, int64(figures.Tags), "tag")
	e.moment(h.currentAt, figures.CurrentSnapshot)
	if figures.CurrentSnapshot != nil {
		e.send(h.age, now.Sub(*figures.CurrentSnapshot).Seconds())
	}
	e.moment(h.oldestAt, figures.OldestSnapshot)
	e.send(h.maxAge, float64(figures.MaxSnapshotAgeMs)/1000)
	e.moment(h.oldestRef, figures.OldestRefSnapshot)
	e.moment(h.compactedAt, figures.LastCompaction)
	e.count(h.appends, int64(figures.AppendsSinceCompaction))
	e.moment(h.manifestsAt, figures.LastManifestRewrite)

	window := time.Duration(t.Settings.RecentWindow)
	recent := figures.Recent(now, window)
	e.send(h.window, window.Seconds())
	e.count(h.commits, recent.Commits)
	e.known(h.recentFiles, recent.AddedDataFiles)
	e.known(h.recentBytes, recent.AddedBytes)
}
