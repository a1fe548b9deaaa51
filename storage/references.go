// Package storage accounts for the bytes under a table's location: what the
// table's snapshots refer to, what only old ones do, and what nothing does, which
// is what Iceberg's remove_orphan_files deletes.
//
// It is told of files one at a time and keeps a hash of each name, so that ten
// million of them fit in memory. It reads no storage itself.
package storage

import (
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

// Holder is what holds on to content files. A file counts for the first of its
// holders in this order.
type Holder int

// Holders.
const (
	// Current is the current snapshot of main.
	Current Holder = iota
	// Retained are all other snapshots that expire_snapshots would keep.
	Retained
	// Expirable are the snapshots that expire_snapshots would expire.
	Expirable
	holders
)

// References are the files that a table refers to. Those that lie outside of its
// location are left out: nothing that is listed there can be one of them.
type References struct {
	// content are the content files of each holder, without those of holders
	// before it.
	content [holders]hashes
	// metadata are all other files.
	metadata map[uint64]bool
	// mistaken are files of paths inside the location, but of another store.
	mistaken map[uint64]bool
	// outside is whether a snapshot that can expire has files elsewhere.
	outside bool
	// expected is how many files must be found under the location.
	expected int64
	sealed   Holder
}

// NewReferences returns references to nothing.
func NewReferences() *References {
	return &References{metadata: map[uint64]bool{}, mistaken: map[uint64]bool{}}
}

// AddContent adds the files of a manifest that a holder has. Holders must come in
// their order.
func (r *References) AddContent(holder Holder, record *manifest.Record) {
	r.seal(holder)
	for i := range record.Len() {
		hash := record.PathHashAt(i)
		switch record.PlaceAt(i) {
		case uri.Inside:
			r.expected++
			if r.holder(hash, holder) == holder {
				r.content[holder].add(hash)
			}
		case uri.Mistaken:
			r.mistaken[hash] = true
		case uri.Outside:
			r.outside = r.outside || holder == Expirable
		}
	}
}

// AddMetadata adds a file that is no content and that must be there: a
// metadata.json, a manifest list, a manifest, a statistics file.
func (r *References) AddMetadata(path string, place uri.Place) {
	if place == uri.Inside {
		r.expected++
	}
	r.AddOptional(path, place)
}

// AddOptional adds a file that is no content and that may be gone: an older
// metadata.json, a version hint.
func (r *References) AddOptional(path string, place uri.Place) {
	switch place {
	case uri.Inside:
		r.metadata[manifest.PathHash(path)] = true
	case uri.Mistaken:
		r.mistaken[manifest.PathHash(path)] = true
	case uri.Outside:
	}
}

// Seal ends the adding.
func (r *References) Seal() { r.seal(holders) }

// seal ends the adding to all holders before one.
func (r *References) seal(holder Holder) {
	for ; r.sealed < holder; r.sealed++ {
		r.content[r.sealed].seal()
	}
}

// holder returns which of the holders before a last one has a file, or else that
// last one.
func (r *References) holder(hash uint64, last Holder) Holder {
	for h := range last {
		if r.content[h].has(hash) {
			return h
		}
	}
	return last
}

// Bytes is the memory that the references to content files hold.
func (r *References) Bytes() int64 {
	var n int64
	for i := range r.content {
		n += r.content[i].bytes()
	}
	return n
}
