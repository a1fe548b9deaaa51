// Package card writes a table's index card: the five lines of table maintenance,
// with value, limit and verdict, and the commands that would mend what is over
// its limit, in their safe order.
package card

import (
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/maintenance"
	"github.com/iceberg-exporter/iceberg_exporter/refresh"
)

// Verdict is what a figure is worth against its limit.
type Verdict string

// The verdicts. A figure without a limit has none.
const (
	None Verdict = ""
	OK   Verdict = "ok"
	Over Verdict = "over"
	// Ignored is a limit that is crossed and does not matter: the sizes of a few
	// files, the age of a compaction that there is no need for.
	Ignored Verdict = "ignored"
)

// Card is the index card of a table.
type Card struct {
	Catalog   string `json:"catalog"`
	Namespace string `json:"namespace"`
	Table     string `json:"table"`
	// Error is why the table could not be measured; there are no lines then.
	Error string `json:"error,omitempty"`
	Lines []Line `json:"lines,omitempty"`
	// Commands are Spark SQL, in the order in which they are safe.
	Commands []string `json:"commands,omitempty"`
}

// Line is one line of the card.
type Line struct {
	Name    string   `json:"name"`
	Figures []Figure `json:"figures"`
}

// Unit says how a figure is written for people.
type Unit string

// The units.
const (
	Count   Unit = "count"
	Bytes   Unit = "bytes"
	Seconds Unit = "seconds"
	Ratio   Unit = "ratio"
	Text    Unit = "text"
)

// Figure is one figure of a line.
type Figure struct {
	Name string `json:"name"`
	Unit Unit   `json:"unit"`
	// Value is nil where it is not known, and for texts.
	Value *float64 `json:"value,omitempty"`
	Text  string   `json:"text,omitempty"`
	// Limit is nil without one. The value must not exceed it, or with AtLeast
	// not fall below it.
	Limit   *float64 `json:"limit,omitempty"`
	AtLeast bool     `json:"at_least,omitempty"`
	Verdict Verdict  `json:"verdict,omitempty"`
}

// IsOver reports whether a limit of the card is crossed, or the table could not
// be measured at all.
func (c Card) IsOver() bool { return c.Error != "" || c.Crossed() > 0 }

// Crossed counts the limits that are crossed.
func (c Card) Crossed() int {
	n := 0
	for _, line := range c.Lines {
		for _, f := range line.Figures {
			if f.Verdict == Over {
				n++
			}
		}
	}
	return n
}

// minFiles is from how many files on their sizes matter, as in the alert rules:
// a table of a few small files is a small table.
const minFiles = 100

// New writes the card of a table as it is at a moment.
func New(t refresh.Table, now time.Time) Card {
	c := Card{Catalog: t.Key.Catalog, Namespace: t.Key.Namespace, Table: t.Key.Name}
	if t.Measurement == nil || !t.Up {
		c.Error = "the table could not be measured"
		if t.Err != nil {
			c.Error = t.Err.Error()
		}
		return c
	}
	w := &writer{Table: t, now: now, limits: t.Settings.Thresholds.Values(), expiry: maintenance.ExpireSnapshots(t.Measurement.Snapshots, now)}
	c.Lines = []Line{
		{"Measure first", w.measureFirst()},
		{"Fix the writer", w.fixTheWriter()},
		{"Compact", w.compact()},
		{"Clean up", w.cleanUp()},
		{"Sweep", w.sweep()},
	}
	c.Commands = w.commands()
	return c
}

// writer writes the lines of one card.
type writer struct {
	refresh.Table
	now    time.Time
	limits map[string]float64
	expiry maintenance.SnapshotExpiry
}

func (w *writer) measureFirst() []Figure {
	l := w.Measurement.Layout
	figures := []Figure{w.limited(Figure{Name: "data files", Unit: Count, Value: new(float64(l.DataFiles))}, "data_files", true)}
	if l.DataFiles == 0 {
		return figures
	}
	enough := l.DataFiles >= minFiles
	average := Figure{Name: "average size", Unit: Bytes, Value: new(float64(l.DataBytes) / float64(l.DataFiles)), AtLeast: true}
	return append(figures,
		w.limited(average, "average_file_size_bytes", enough),
		w.limited(Figure{Name: "small files", Unit: Ratio, Value: new(float64(l.SmallDataFiles) / float64(l.DataFiles))}, "small_file_ratio", enough))
}

func (w *writer) fixTheWriter() []Figure {
	window := time.Duration(w.Settings.RecentWindow)
	recent := w.Measurement.History.Recent(w.now, window)
	figures := []Figure{{Name: "commits, last " + durationText(window.Seconds()), Unit: Count, Value: new(float64(recent.Commits))}}
	if recent.AddedDataFiles != nil && *recent.AddedDataFiles > 0 && recent.AddedBytes != nil {
		figures = append(figures, Figure{Name: "average size of new files", Unit: Bytes, Value: new(float64(*recent.AddedBytes) / float64(*recent.AddedDataFiles))})
	}
	info := w.Measurement.Info
	figures = append(figures, Figure{Name: "target file size", Unit: Bytes, Value: new(float64(info.TargetFileSize))})
	if info.DistributionMode != "" {
		figures = append(figures, Figure{Name: "distribution mode", Unit: Text, Text: info.DistributionMode})
	}
	return figures
}

func (w *writer) compact() []Figure {
	h, l, p := w.Measurement.History, w.Measurement.Layout, w.Measurement.Prediction.DataFiles
	age := Figure{Name: "since last compaction", Unit: Seconds}
	if h.LastCompaction != nil {
		age.Value = new(w.now.Sub(*h.LastCompaction).Seconds())
	} else {
		age.Text = "none retained"
	}
	figures := []Figure{
		// Without appends since, or with nothing to do, its age is no trouble.
		w.limited(age, "compaction_age_seconds", h.AppendsSinceCompaction > 0 && p.Files > 0),
		{Name: "appends since", Unit: Count, Value: new(float64(int64(h.AppendsSinceCompaction)))},
	}
	figures = append(figures, predicted("rewrite_data_files would read", p.Files, p.Refusal))
	if p.Files > 0 {
		figures = append(figures, Figure{Name: "of these bytes", Unit: Bytes, Value: new(float64(p.Bytes))}, Figure{Name: "and write", Unit: Count, Value: new(float64(p.OutputFiles))})
	}
	if deletes := l.PositionDeletes.Files + l.EqualityDeletes.Files + l.DeletionVectors.Files; l.DataFiles > 0 {
		figures = append(figures, w.limited(Figure{Name: "delete files a data file", Unit: Ratio, Value: new(float64(deletes) / float64(l.DataFiles))}, "delete_file_ratio", true))
	}
	return figures
}

func (w *writer) cleanUp() []Figure {
	m := w.Measurement
	figures := []Figure{
		w.limited(Figure{Name: "snapshots", Unit: Count, Value: new(float64(m.History.Snapshots))}, "snapshots", true),
		predicted("expire_snapshots would expire", int64(len(w.expiry.Snapshots)), w.expiry.Refusal),
		w.limited(Figure{Name: "manifests", Unit: Count, Value: new(float64(m.Layout.DataManifests.Count + m.Layout.DeleteManifests.Count))}, "manifests", true),
		predicted("rewrite_manifests would read", m.Prediction.Manifests.Data.Rewritable+m.Prediction.Manifests.Deletes.Rewritable, m.Prediction.Manifests.Refusal),
	}
	if m.MetadataBytes != nil {
		figures = append(figures, w.limited(Figure{Name: "metadata.json", Unit: Bytes, Value: new(float64(*m.MetadataBytes))}, "metadata_bytes", true))
	}
	if m.History.CurrentSnapshot != nil {
		figures = append(figures, w.limited(Figure{Name: "since last commit", Unit: Seconds, Value: new(w.now.Sub(*m.History.CurrentSnapshot).Seconds())}, "snapshot_age_seconds", true))
	}
	return figures
}

// minOrphanBytes is from how many bytes on orphans matter, as in the alert rules.
const minOrphanBytes = 1 << 30

func (w *writer) sweep() []Figure {
	scan := w.Scan
	switch {
	case !scan.Done:
		return []Figure{{Name: "orphan files", Unit: Text, Text: "not known without --scan"}}
	case scan.Result == nil:
		return []Figure{{Name: "orphan files", Unit: Text, Text: "not known: the scan failed"}}
	}
	f := scan.Result.Figures
	var figures []Figure
	switch orphans, known := scan.Orphans(); {
	case !known && f.Refusal != "":
		figures = append(figures, Figure{Name: "orphan files", Unit: Text, Text: "it cannot be told: " + f.Refusal})
	case !known:
		figures = append(figures, Figure{Name: "orphan files", Unit: Text, Text: "location shared with " + scan.SharedWith.String()})
	default:
		total := f.Total()
		figures = append(figures,
			Figure{Name: "orphan files", Unit: Count, Value: new(float64(orphans.Files))},
			Figure{Name: "of these bytes", Unit: Bytes, Value: new(float64(orphans.Bytes))})
		if total.Bytes > 0 {
			share := Figure{Name: "share of all bytes", Unit: Ratio, Value: new(float64(orphans.Bytes) / float64(total.Bytes))}
			figures = append(figures, w.limited(share, "orphan_ratio", orphans.Bytes >= minOrphanBytes))
		}
	}
	if f.ExpirableBytes != nil {
		figures = append(figures, Figure{Name: "expire_snapshots would free", Unit: Bytes, Value: new(float64(*f.ExpirableBytes))})
	}
	if f.Missing != nil && *f.Missing > 0 {
		figures = append(figures, Figure{Name: "files missing", Unit: Count, Value: new(float64(*f.Missing)), Limit: new(0.0), Verdict: Over})
	}
	return figures
}

// limited compares a figure with its limit, where there is one.
func (w *writer) limited(f Figure, limit string, matters bool) Figure {
	l, ok := w.limits[limit]
	if !ok {
		return f
	}
	f.Limit = &l
	if f.Value == nil {
		return f
	}
	switch crossed := f.AtLeast && *f.Value < l || !f.AtLeast && *f.Value > l; {
	case !crossed:
		f.Verdict = OK
	case matters:
		f.Verdict = Over
	default:
		f.Verdict = Ignored
	}
	return f
}

// predicted is a figure of what a procedure would do, or why it would refuse.
func predicted(name string, n int64, refusal string) Figure {
	if refusal != "" {
		return Figure{Name: name, Unit: Text, Text: "it would fail: " + refusal}
	}
	return Figure{Name: name, Unit: Count, Value: new(float64(n))}
}
