// Package metadata reads Iceberg table metadata files (metadata.json) into a
// compact, immutable form: what the layout of a table is measured from, without
// the schemas and the parts of snapshot summaries that nothing asks for.
package metadata

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"
)

// ErrCorrupt marks what is not readable as what it should be: damaged files,
// impossible values, references to what is not there.
var ErrCorrupt = errors.New("corrupt")

// ErrUnsupported marks what is well-formed but must not be guessed at: an
// unknown format version, an encrypted table.
var ErrUnsupported = errors.New("not supported")

// MainBranch is the branch that readers read when they name none.
const MainBranch = "main"

// Table is the metadata of a table at one moment. It is not changed after Parse.
type Table struct {
	FormatVersion int
	// UUID is empty in old v1 tables.
	UUID string
	// Location is the table's base location as the metadata records it.
	Location string
	// Schemas is how many schema versions the metadata keeps.
	Schemas int
	Specs   []Spec
	// DefaultSpecID is the partition spec that writers use.
	DefaultSpecID int
	Properties    map[string]string
	// CurrentSnapshotID is nil while the table has no snapshot.
	CurrentSnapshotID *SnapshotID
	Snapshots         []Snapshot
	// Refs are the named branches and tags. Parse adds main where old metadata
	// only has a current snapshot.
	Refs        []Ref
	MetadataLog []LogEntry
	// StatisticsFiles are the statistics and partition statistics files.
	StatisticsFiles []string

	snapshots map[SnapshotID]int
}

// Spec is one partition spec.
type Spec struct {
	ID     int
	Fields []SpecField
}

// SpecField is one field of a partition spec.
type SpecField struct {
	// ID is the partition field id, 0 in v1 metadata that has none.
	ID        int
	Name      string
	Transform string
	// Dropped is whether the column that the field is made of is no longer in
	// the table's schema.
	Dropped bool
}

// IsPartitioned reports whether the spec has a field that still partitions:
// dropping a field in v1 leaves it with the void transform.
func (s Spec) IsPartitioned() bool {
	for _, f := range s.Fields {
		if f.Transform != "void" {
			return true
		}
	}
	return false
}

// SnapshotID identifies a snapshot within its table. It has no order.
type SnapshotID int64

// UnmarshalJSON takes the whole unsigned range besides the signed one: the
// identity counts, and there are writers that drew ids from all 64 bits.
func (id *SnapshotID) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		var unsigned uint64
		unsigned, err = strconv.ParseUint(string(text), 10, 64)
		n = int64(unsigned)
	}
	if err != nil {
		return fmt.Errorf("%w metadata: %s is no snapshot id", ErrCorrupt, text)
	}
	*id = SnapshotID(n)
	return nil
}

// Operation is what a snapshot did, in the words of the Iceberg specification.
type Operation string

// The operations of the specification. A snapshot that names none counts as an
// overwrite, as in Iceberg's Java library.
const (
	Append    Operation = "append"
	Replace   Operation = "replace"
	Overwrite Operation = "overwrite"
	Delete    Operation = "delete"
)

// Snapshot is one retained version of the table.
type Snapshot struct {
	ID SnapshotID
	// ParentID is nil for a table's first snapshot.
	ParentID    *SnapshotID
	TimestampMs int64
	Operation   Operation
	Summary     Summary
	// ManifestList is the path of the manifest list. It is empty in old v1
	// snapshots, which name their manifests instead.
	ManifestList string
	Manifests    []string
	// SequenceNumber orders the snapshots of a v2 table; it is 0 in v1.
	SequenceNumber int64
}

// Timestamp is when the snapshot was committed.
func (s Snapshot) Timestamp() time.Time { return time.UnixMilli(s.TimestampMs) }

// Summary has the counts of a snapshot's summary that are asked for. Writers
// leave out counts of zero.
type Summary struct {
	// Counted is whether the summary has any count at all. Without, nothing is
	// known about what the snapshot added or removed.
	Counted bool

	AddedDataFiles     int64
	DeletedDataFiles   int64
	AddedDeleteFiles   int64
	RemovedDeleteFiles int64
	// AddedFilesSize is nil where the summary does not say.
	AddedFilesSize *int64
	// EntriesProcessed is set by rewrites of manifests.
	EntriesProcessed bool
}

// IsDataCompaction reports whether a snapshot rewrote data files without
// changing the data: a replace that removed some.
func (s Snapshot) IsDataCompaction() bool {
	return s.Operation == Replace && s.Summary.DeletedDataFiles > 0
}

// IsManifestRewrite reports whether a snapshot only rearranged manifests: a
// replace that says how many entries it went through and touched no file.
// Iceberg 1.11 and later count manifests in every summary, so that does not tell.
func (s Snapshot) IsManifestRewrite() bool {
	c := s.Summary
	return s.Operation == Replace && c.EntriesProcessed &&
		c.AddedDataFiles == 0 && c.DeletedDataFiles == 0 && c.AddedDeleteFiles == 0 && c.RemovedDeleteFiles == 0
}

// RefType is the kind of a named reference.
type RefType string

// The kinds of references.
const (
	Branch RefType = "branch"
	Tag    RefType = "tag"
)

// Ref is a named reference to a snapshot.
type Ref struct {
	Name       string
	Type       RefType
	SnapshotID SnapshotID
	// Retention settings; nil where the table's own apply.
	MaxRefAgeMs        *int64
	MaxSnapshotAgeMs   *int64
	MinSnapshotsToKeep *int64
}

// LogEntry is one earlier metadata file that is still tracked.
type LogEntry struct {
	File        string
	TimestampMs int64
}

// Snapshot returns the snapshot of this id, and whether it is retained.
func (t *Table) Snapshot(id SnapshotID) (Snapshot, bool) {
	i, ok := t.snapshots[id]
	if !ok {
		return Snapshot{}, false
	}
	return t.Snapshots[i], true
}

// Lineage returns what tells which snapshots a table keeps, and no more of it:
// the ids, parents and times of its snapshots, its references and properties.
// It is what is worth keeping of a table that has been measured.
func (t *Table) Lineage() *Table {
	kept := &Table{
		FormatVersion: t.FormatVersion, Properties: t.Properties, CurrentSnapshotID: t.CurrentSnapshotID, Refs: t.Refs,
		Snapshots: make([]Snapshot, len(t.Snapshots)), snapshots: t.snapshots,
	}
	for i, s := range t.Snapshots {
		kept.Snapshots[i] = Snapshot{ID: s.ID, ParentID: s.ParentID, TimestampMs: s.TimestampMs, Operation: s.Operation}
	}
	return kept
}

// Current returns the current snapshot of main, and whether there is one.
func (t *Table) Current() (Snapshot, bool) {
	if t.CurrentSnapshotID == nil {
		return Snapshot{}, false
	}
	return t.Snapshot(*t.CurrentSnapshotID)
}

// Ancestors walks from a snapshot to its parents as far as they are retained,
// the snapshot itself first. Parents that form a circle are walked once.
func (t *Table) Ancestors(id SnapshotID) iter.Seq[Snapshot] {
	return func(yield func(Snapshot) bool) {
		seen := map[SnapshotID]bool{}
		for !seen[id] {
			seen[id] = true
			s, ok := t.Snapshot(id)
			if !ok || !yield(s) || s.ParentID == nil {
				return
			}
			id = *s.ParentID
		}
	}
}

// Spec returns the partition spec of this id, and whether the metadata has it.
func (t *Table) Spec(id int) (Spec, bool) {
	for _, s := range t.Specs {
		if s.ID == id {
			return s, true
		}
	}
	return Spec{}, false
}

// IntProperty returns a table property that is a whole number of zero or more,
// or the default where it is not set or is none.
func (t *Table) IntProperty(name string, byDefault int64) int64 {
	n, err := strconv.ParseInt(t.Properties[name], 10, 64)
	if err != nil || n < 0 {
		return byDefault
	}
	return n
}
