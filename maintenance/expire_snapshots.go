package maintenance

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// SnapshotExpiry is what expire_snapshots would do.
type SnapshotExpiry struct {
	// Snapshots are the ids of those that it would expire, in the metadata's
	// order.
	Snapshots []metadata.SnapshotID
	// Refs are the names of the branches and tags that it would remove, sorted.
	Refs []string
	// Refusal is why it would fail instead, and empty where it would not.
	Refusal string
}

const (
	maxSnapshotAgeProperty = "history.expire.max-snapshot-age-ms"
	defaultMaxSnapshotAge  = 432_000_000
	minSnapshotsProperty   = "history.expire.min-snapshots-to-keep"
	defaultMinSnapshots    = 1
	maxRefAgeProperty      = "history.expire.max-ref-age-ms"
	defaultMaxRefAge       = math.MaxInt64
	gcProperty             = "gc.enabled"
)

// ExpireSnapshots predicts expire_snapshots at a moment. The rules of
// org.apache.iceberg.RemoveSnapshots:
//   - main is kept, and every other ref whose snapshot is no older than the
//     ref's, or else the table's, greatest age of a ref.
//   - A branch that is kept retains, from its head back, as many snapshots as it
//     must, and then those that are not too old, up to the first that is. A tag
//     that is kept retains its own snapshot.
//   - Of all others, those that a kept ref leads to expire at once, and those
//     that none does when they are too old by the table's own rule. Snapshots of
//     refs that are removed, and ancestors of a tag, are among the latter.
func ExpireSnapshots(table *metadata.Table, now time.Time) SnapshotExpiry {
	policy, err := retentionOf(table, now)
	if err != nil {
		return SnapshotExpiry{Refusal: err.Error()}
	}
	var expiry SnapshotExpiry
	var kept []metadata.Ref
	for _, ref := range table.Refs {
		if policy.keeps(table, ref) {
			kept = append(kept, ref)
		} else {
			expiry.Refs = append(expiry.Refs, ref.Name)
		}
	}
	slices.Sort(expiry.Refs)
	retained, led := policy.retained(table, kept), leads(table, kept)
	for _, s := range table.Snapshots {
		if !retained[s.ID] && (led[s.ID] || s.TimestampMs < policy.expireOlderThan) {
			expiry.Snapshots = append(expiry.Snapshots, s.ID)
		}
	}
	return expiry
}

// Pin is a ref that keeps a snapshot from expiring.
type Pin struct {
	Ref metadata.Ref
	// Committed is when the ref's snapshot was.
	Committed time.Time
}

// OldestPin returns the ref with the oldest snapshot, of the tags and the
// branches other than main that expire_snapshots would keep, and whether there
// is one.
func OldestPin(table *metadata.Table, now time.Time) (Pin, bool) {
	policy, err := retentionOf(table, now)
	fails := err != nil // And so it keeps every ref.
	var oldest Pin
	found := false
	for _, ref := range table.Refs {
		s, ok := table.Snapshot(ref.SnapshotID)
		if !ok || ref.Name == metadata.MainBranch || !fails && !policy.keeps(table, ref) {
			continue
		}
		pin := Pin{ref, s.Timestamp()}
		if !found || cmp.Or(pin.Committed.Compare(oldest.Committed), strings.Compare(ref.Name, oldest.Ref.Name)) < 0 {
			oldest, found = pin, true
		}
	}
	return oldest, found
}

// retention is a table's policy at a moment, in milliseconds.
type retention struct {
	now             int64
	expireOlderThan int64
	minSnapshots    int64
	maxRefAge       int64
}

func retentionOf(table *metadata.Table, now time.Time) (retention, error) {
	if enabled, ok := table.Properties[gcProperty]; ok && !strings.EqualFold(enabled, "true") {
		return retention{}, errors.New("the table property gc.enabled forbids it")
	}
	maxSnapshotAge, err := property(table, maxSnapshotAgeProperty, defaultMaxSnapshotAge, 64)
	if err != nil {
		return retention{}, err
	}
	r := retention{now: now.UnixMilli(), expireOlderThan: now.UnixMilli() - maxSnapshotAge}
	if r.minSnapshots, err = property(table, minSnapshotsProperty, defaultMinSnapshots, 32); err != nil {
		return retention{}, err
	}
	r.maxRefAge, err = property(table, maxRefAgeProperty, defaultMaxRefAge, 64)
	return r, err
}

// keeps reports whether a ref is kept (computeRetainedRefs).
func (r retention) keeps(table *metadata.Table, ref metadata.Ref) bool {
	if ref.Name == metadata.MainBranch {
		return true
	}
	s, ok := table.Snapshot(ref.SnapshotID)
	maxAge := r.maxRefAge
	if ref.MaxRefAgeMs != nil {
		maxAge = *ref.MaxRefAgeMs
	}
	return ok && r.now-s.TimestampMs <= maxAge
}

// branch is a branch with the rules for its snapshots.
type branch struct {
	head            metadata.SnapshotID
	expireOlderThan int64
	minSnapshots    int64
}

func (r retention) branch(ref metadata.Ref) branch {
	b := branch{ref.SnapshotID, r.expireOlderThan, r.minSnapshots}
	if ref.MaxSnapshotAgeMs != nil {
		b.expireOlderThan = r.now - *ref.MaxSnapshotAgeMs
	}
	if ref.MinSnapshotsToKeep != nil {
		b.minSnapshots = *ref.MinSnapshotsToKeep
	}
	return b
}

// retained are the snapshots that refs retain (computeAllBranchSnapshotsToRetain).
func (r retention) retained(table *metadata.Table, refs []metadata.Ref) map[metadata.SnapshotID]bool {
	retained := map[metadata.SnapshotID]bool{}
	var branches []branch
	for _, ref := range refs {
		retained[ref.SnapshotID] = true
		if ref.Type == metadata.Branch {
			branches = append(branches, r.branch(ref))
		}
	}
	// The branches that reach furthest back go first, so that the others stop
	// where they meet one: walked has how many snapshots it still had to keep.
	slices.SortFunc(branches, func(a, b branch) int { return cmp.Compare(a.expireOlderThan, b.expireOlderThan) })
	walked := map[metadata.SnapshotID]int64{}
	for _, b := range branches {
		left := max(b.minSnapshots, 0)
		for at := &b.head; at != nil; {
			s, ok := table.Snapshot(*at)
			if !ok || left == 0 && s.TimestampMs < b.expireOlderThan {
				break
			}
			if before, ok := walked[s.ID]; ok && before >= left {
				break
			}
			retained[s.ID], walked[s.ID] = true, left
			left = max(left-1, 0)
			at = s.ParentID
		}
	}
	return retained
}

// leads are the snapshots that refs lead to: a branch to all its ancestors, a
// tag to its own (unreferencedSnapshotsToRetain).
func leads(table *metadata.Table, refs []metadata.Ref) map[metadata.SnapshotID]bool {
	led := map[metadata.SnapshotID]bool{}
	for _, ref := range refs {
		if ref.Type != metadata.Branch {
			continue
		}
		for at := &ref.SnapshotID; at != nil && !led[*at]; {
			s, ok := table.Snapshot(*at)
			if !ok {
				break
			}
			led[s.ID] = true
			at = s.ParentID
		}
	}
	for _, ref := range refs {
		led[ref.SnapshotID] = true
	}
	return led
}
