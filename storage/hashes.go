package storage

import (
	"iter"
	"math/bits"
	"slices"
	"sort"
)

// hashes is a set of path hashes that holds little more than the eight bytes of
// each: a map needs four times as much. It is parted by the first bits of the
// hashes, so that growing copies a small part at a time.
type hashes struct {
	parts [1 << partBits]part
}

const partBits = 8

// part is sorted and without doubles up to sorted; what was added since follows.
type part struct {
	values []uint64
	sorted int
	// marks has a bit for each value, once there is a first.
	marks []uint64
}

func (h *hashes) part(hash uint64) *part { return &h.parts[hash>>(64-partBits)] }

// add adds a hash. It must not follow a mark.
func (h *hashes) add(hash uint64) {
	p := h.part(hash)
	if len(p.values) == cap(p.values) {
		p.sort()
		if free := cap(p.values) - len(p.values); free < cap(p.values)/8 {
			p.values = append(make([]uint64, 0, len(p.values)+len(p.values)/4+16), p.values...)
		}
	}
	p.values = append(p.values, hash)
}

// sort puts a part in order, and drops doubles.
func (p *part) sort() {
	if p.sorted == len(p.values) {
		return
	}
	slices.Sort(p.values)
	p.values = slices.Compact(p.values)
	p.sorted = len(p.values)
}

// seal makes the set ready to be asked.
func (h *hashes) seal() {
	for i := range h.parts {
		h.parts[i].sort()
	}
}

// has reports whether a sealed set has a hash.
func (h *hashes) has(hash uint64) bool {
	_, ok := h.part(hash).find(hash)
	return ok
}

func (p *part) find(hash uint64) (int, bool) {
	return sort.Find(len(p.values), func(i int) int {
		switch at := p.values[i]; {
		case hash < at:
			return -1
		case hash > at:
			return 1
		default:
			return 0
		}
	})
}

// mark marks a hash of a sealed set, and reports whether the set has it.
func (h *hashes) mark(hash uint64) bool {
	p := h.part(hash)
	i, ok := p.find(hash)
	if !ok {
		return false
	}
	if p.marks == nil {
		p.marks = make([]uint64, (len(p.values)+63)/64)
	}
	p.marks[i/64] |= 1 << (i % 64)
	return true
}

// marked reports whether a sealed set has a hash that was marked.
func (h *hashes) marked(hash uint64) bool {
	p := h.part(hash)
	i, ok := p.find(hash)
	return ok && p.marks != nil && p.marks[i/64]&(1<<(i%64)) != 0
}

// unmarked is how many hashes of a sealed set are not marked.
func (h *hashes) unmarked() int64 {
	var n int64
	for i := range h.parts {
		p := &h.parts[i]
		n += int64(len(p.values))
		for _, word := range p.marks {
			n -= int64(bits.OnesCount64(word))
		}
	}
	return n
}

// all yields the hashes of a sealed set.
func (h *hashes) all() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for i := range h.parts {
			for _, hash := range h.parts[i].values {
				if !yield(hash) {
					return
				}
			}
		}
	}
}

// bytes is the memory that the set holds.
func (h *hashes) bytes() int64 {
	var n int64
	for i := range h.parts {
		n += int64(cap(h.parts[i].values)+cap(h.parts[i].marks)) * 8
	}
	return n
}
