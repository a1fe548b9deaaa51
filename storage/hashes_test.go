package storage

import (
	"math/rand/v2"
	"testing"
)

func TestHashes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var set hashes
	want := map[uint64]bool{}
	for range 200_000 {
		hash := random.Uint64()
		if random.IntN(8) == 0 {
			hash = random.Uint64N(1000) << 54 // Often the same ones.
		}
		want[hash] = true
		set.add(hash)
		set.add(hash)
	}
	set.seal()
	if n := set.unmarked(); n != int64(len(want)) {
		t.Fatalf("%d hashes, want %d", n, len(want))
	}
	marked := 0
	for hash := range want {
		if !set.has(hash) || set.marked(hash) {
			t.Fatalf("%x is not there, or marked", hash)
		}
		if marked%2 == 0 && (!set.mark(hash) || !set.marked(hash) || !set.mark(hash)) {
			t.Fatalf("%x cannot be marked", hash)
		}
		marked++
	}
	if n := set.unmarked(); n != int64(len(want)/2) {
		t.Errorf("%d are not marked, want %d", n, len(want)/2)
	}
	for range 1000 {
		if hash := random.Uint64(); !want[hash] && (set.has(hash) || set.mark(hash) || set.marked(hash)) {
			t.Errorf("%x is there", hash)
		}
	}
	for hash := range set.all() {
		delete(want, hash)
	}
	if len(want) > 0 {
		t.Errorf("%d are not among all", len(want))
	}
	if perHash := float64(set.bytes()) / float64(set.unmarked()*2); perHash > 16 {
		t.Errorf("%v bytes a hash", perHash)
	}
}

func TestNoHashes(t *testing.T) {
	var set hashes
	set.seal()
	if set.has(1) || set.mark(1) || set.unmarked() != 0 || set.bytes() != 0 {
		t.Error("an empty set has something")
	}
}
