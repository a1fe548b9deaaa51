package manifest

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Key identifies a manifest. Paths alone do not: two catalogs may name two
// files of different stores alike.
type Key struct {
	// Store tells the storage that the manifest lies in.
	Store string
	// URI is where the manifest is, which for a table that was moved is not
	// where its list says.
	URI string
	// Location is the table's, which decides where its files are.
	Location string
	// The rest of a record's content follows from what the list says of the
	// manifest, which one table's list must not decide for another's.
	Length         int64
	SpecID         int
	Content        Content
	SequenceNumber int64
}

// KeyOf returns the key of a manifest that the list of a table at this location
// names, and that lies at a URI.
func KeyOf(store, location, uri string, file File) Key {
	return Key{Store: store, Location: location, URI: uri, Length: file.Length, SpecID: file.SpecID, Content: file.Content, SequenceNumber: file.SequenceNumber}
}

// Cache keeps the records of manifests, up to a number of bytes; the least
// recently used one goes first. Records that only scans asked for go before all
// others. It is safe for concurrent use.
type Cache struct {
	limit int64

	mu sync.Mutex
	// records are those that Get was asked for, scanned are those that only
	// Scan was.
	records, scanned *simplelru.LRU[Key, *Record]
	reads            map[Key]*read
	stats            CacheStats
}

// CacheStats are a cache's figures at one moment.
type CacheStats struct {
	Bytes, Limit, Entries int64
	Hits, Misses          uint64
	// Evictions are of records that Get was asked for.
	Evictions uint64
}

// read is a manifest being read. It is done when its channel is closed.
type read struct {
	done   chan struct{}
	record *Record
	err    error
}

// NewCache returns an empty cache of at most limit bytes.
func NewCache(limit int64) *Cache {
	c := &Cache{limit: limit, reads: map[Key]*read{}}
	// The cache is bounded in bytes, so the list must never drop a record by itself.
	c.records, _ = simplelru.NewLRU[Key, *Record](math.MaxInt, nil)
	c.scanned, _ = simplelru.NewLRU[Key, *Record](math.MaxInt, nil)
	return c
}

// Stats returns the cache's figures.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	stats.Limit, stats.Entries = c.limit, int64(c.records.Len()+c.scanned.Len())
	return stats
}

// SetLimit changes the bound, and drops records at once where it is lower.
func (c *Cache) SetLimit(limit int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = limit
	c.evict()
}

// Peek returns the record of a manifest where it is kept.
func (c *Cache) Peek(key Key) (*Record, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lookUp(key)
}

func (c *Cache) lookUp(key Key) (*Record, bool) {
	record, ok := c.records.Get(key)
	if !ok {
		if record, ok = c.scanned.Peek(key); ok {
			c.scanned.Remove(key)
			c.records.Add(key, record)
		}
	}
	if ok {
		c.stats.Hits++
	}
	return record, ok
}

// lookUpScanned leaves the order of the records as it is.
func (c *Cache) lookUpScanned(key Key) (*Record, bool) {
	record, ok := c.records.Peek(key)
	if !ok {
		record, ok = c.scanned.Get(key)
	}
	if ok {
		c.stats.Hits++
	}
	return record, ok
}

// Get returns the record of a manifest, and reads it where it is not kept.
// However many callers wait for a manifest, one of them reads it. When that
// one's context ends, another takes over.
func (c *Cache) Get(ctx context.Context, key Key, readRecord func(context.Context) (*Record, error)) (*Record, error) {
	return c.get(ctx, key, c.records, c.lookUp, readRecord)
}

// Scan is like Get, for a pass over the manifests of a table's whole history:
// what it reads is kept while there is room, and drives out nothing that Get was
// asked for.
func (c *Cache) Scan(ctx context.Context, key Key, readRecord func(context.Context) (*Record, error)) (*Record, error) {
	return c.get(ctx, key, c.scanned, c.lookUpScanned, readRecord)
}

func (c *Cache) get(ctx context.Context, key Key, to *simplelru.LRU[Key, *Record], lookUp func(Key) (*Record, bool), readRecord func(context.Context) (*Record, error)) (*Record, error) {
	for {
		c.mu.Lock()
		if record, ok := lookUp(key); ok {
			c.mu.Unlock()
			return record, nil
		}
		running, ok := c.reads[key]
		if !ok {
			running = &read{done: make(chan struct{})}
			c.reads[key] = running
			c.stats.Misses++
			c.mu.Unlock()
			c.lead(ctx, key, running, to, readRecord)
			return running.record, running.err
		}
		c.mu.Unlock()
		select {
		case <-running.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !errors.Is(running.err, errAbandoned) {
			return running.record, running.err
		}
	}
}

// errAbandoned marks a read that its own caller gave up, which says nothing
// about the manifest.
var errAbandoned = errors.New("the read was given up")

// lead reads a manifest for all who wait for it.
func (c *Cache) lead(ctx context.Context, key Key, r *read, to *simplelru.LRU[Key, *Record], readRecord func(context.Context) (*Record, error)) {
	// A panic must not leave the others waiting for ever.
	r.err = errAbandoned
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.reads, key)
		if r.err == nil {
			to.Add(key, r.record)
			c.stats.Bytes += entryBytes(key, r.record)
			c.evict()
		}
		close(r.done)
	}()
	r.record, r.err = readRecord(ctx)
	if r.err != nil && ctx.Err() != nil {
		r.err = errors.Join(errAbandoned, ctx.Err())
	}
}

func (c *Cache) evict() {
	for c.stats.Bytes > c.limit {
		key, record, ok := c.scanned.RemoveOldest()
		if !ok {
			if key, record, ok = c.records.RemoveOldest(); !ok {
				return
			}
			c.stats.Evictions++
		}
		c.stats.Bytes -= entryBytes(key, record)
	}
}

// entryOverhead is what the list and its index hold for an entry.
const entryOverhead = 200

func entryBytes(key Key, record *Record) int64 {
	return record.Bytes() + int64(len(key.URI)) + entryOverhead
}
