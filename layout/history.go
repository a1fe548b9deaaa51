package layout

import (
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// defaultMaxSnapshotAgeMs is history.expire.max-snapshot-age-ms where a table
// does not set it: 5 days (org.apache.iceberg.TableProperties).
const defaultMaxSnapshotAgeMs = 432_000_000

// History has the figures of a table's snapshots and references. A nil time is
// one that is not known: there is no such snapshot, or none is retained.
type History struct {
	Snapshots  int
	Operations map[metadata.Operation]int
	Branches   int
	Tags       int

	CurrentSnapshot *time.Time
	OldestSnapshot  *time.Time
	// OldestRefSnapshot is that of the oldest snapshot that a tag or a branch
	// other than main points at.
	OldestRefSnapshot *time.Time
	// MaxSnapshotAgeMs is how old the table's own policy lets a snapshot get.
	MaxSnapshotAgeMs int64

	// LastCompaction is that of the latest retained data compaction on main.
	LastCompaction *time.Time
	// AppendsSinceCompaction counts the retained appends on main after it, or
	// all of them.
	AppendsSinceCompaction int
	LastManifestRewrite    *time.Time

	// writes are main's commits that wrote data, which replaces do not.
	writes []write
}

// write is what a commit says that it added; a nil count is not known.
type write struct {
	at               time.Time
	dataFiles, bytes *int64
}

func writeOf(s metadata.Snapshot) write {
	w := write{at: s.Timestamp()}
	if !s.Summary.Counted {
		return w
	}
	w.dataFiles, w.bytes = &s.Summary.AddedDataFiles, s.Summary.AddedFilesSize
	if w.bytes == nil && s.Summary.AddedDataFiles == 0 && s.Summary.AddedDeleteFiles == 0 {
		w.bytes = new(int64) // Counts of zero are left out.
	}
	return w
}

// Recent has the figures of main's latest commits, replaces excluded.
type Recent struct {
	Commits int64
	// AddedDataFiles and AddedBytes are nil where a summary does not say.
	AddedDataFiles *int64
	AddedBytes     *int64
}

// MeasureHistory measures a table's snapshots.
func MeasureHistory(table *metadata.Table) *History {
	h := &History{
		Snapshots:        len(table.Snapshots),
		Operations:       map[metadata.Operation]int{},
		MaxSnapshotAgeMs: table.IntProperty("history.expire.max-snapshot-age-ms", defaultMaxSnapshotAgeMs),
	}
	for _, s := range table.Snapshots {
		h.Operations[known(s.Operation)]++
		h.OldestSnapshot = earlier(h.OldestSnapshot, s)
	}
	for _, ref := range table.Refs {
		if ref.Type == metadata.Tag {
			h.Tags++
		} else {
			h.Branches++
		}
		if s, ok := table.Snapshot(ref.SnapshotID); ok && ref.Name != metadata.MainBranch {
			h.OldestRefSnapshot = earlier(h.OldestRefSnapshot, s)
		}
	}
	if current, ok := table.Current(); ok {
		at := current.Timestamp()
		h.CurrentSnapshot = &at
		h.measureMain(table, current.ID)
	}
	return h
}

// measureMain walks main from its head back.
func (h *History) measureMain(table *metadata.Table, head metadata.SnapshotID) {
	for s := range table.Ancestors(head) {
		at := s.Timestamp()
		if h.LastCompaction == nil && s.IsDataCompaction() {
			h.LastCompaction = &at
		}
		if h.LastManifestRewrite == nil && s.IsManifestRewrite() {
			h.LastManifestRewrite = &at
		}
		if h.LastCompaction == nil && s.Operation == metadata.Append {
			h.AppendsSinceCompaction++
		}
		if s.Operation != metadata.Replace {
			h.writes = append(h.writes, writeOf(s))
		}
	}
}

// otherOperation stands for operations that the specification does not have, so
// that a damaged table cannot publish any number of them.
const otherOperation metadata.Operation = "other"

func known(operation metadata.Operation) metadata.Operation {
	switch operation {
	case metadata.Append, metadata.Replace, metadata.Overwrite, metadata.Delete:
		return operation
	default:
		return otherOperation
	}
}

func earlier(than *time.Time, s metadata.Snapshot) *time.Time {
	at := s.Timestamp()
	if than == nil || at.Before(*than) {
		return &at
	}
	return than
}

// Recent measures the commits of the last window before now, by what their
// summaries say that they added.
func (h *History) Recent(now time.Time, window time.Duration) Recent {
	r := Recent{AddedDataFiles: new(int64), AddedBytes: new(int64)}
	for _, w := range h.writes {
		if now.Sub(w.at) > window {
			continue
		}
		r.Commits++
		r.AddedDataFiles = sum(r.AddedDataFiles, w.dataFiles)
		r.AddedBytes = sum(r.AddedBytes, w.bytes)
	}
	return r
}

// sum of two counts is not known when one of them is not.
func sum(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	total := *a + *b
	if total < *a {
		return nil // The sum of two counts that only together do not fit.
	}
	return &total
}
