package integration

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// overlap counts listings, and how many there are at once.
type overlap struct {
	mu             sync.Mutex
	all, now, most int
}

// slowly lets a listing through after a while, so that others can overlap it.
func (o *overlap) slowly(behind http.Handler) policy {
	return func(w http.ResponseWriter, r *http.Request) bool {
		o.add(1)
		time.Sleep(20 * time.Millisecond)
		behind.ServeHTTP(w, r)
		o.add(-1)
		return true
	}
}

func (o *overlap) add(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all += max(n, 0)
	o.now += n
	o.most = max(o.most, o.now)
}

// counts returns how many listings there were, and how many at once.
func (o *overlap) counts() (all, most int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all, o.most
}

// Large tables are listed in parts at once, where they have directories, and each
// object counts once. It costs hardly more requests than there are pages.
func TestStoragePaging(t *testing.T) {
	t.Parallel()
	const objects = 12500
	layouts := map[string]layout{"parted": parted, "nested": nested, "flat": flat}
	server := startS3(t)
	lake := server.catalog(scratch(t), "lake", "s3")
	var policies []policy
	overlaps := map[string]*overlap{}
	for table, names := range layouts {
		lake.write(t, "sales."+table, 2, nil)
		server.plantMany(t, table, objects, names)
		overlaps[table] = &overlap{}
		policies = append(policies, listing(table, overlaps[table].slowly(server.proxy)))
	}
	server.obey(anyOf(policies...))
	server.take()
	x := start(t, server.scans(lake, time.Minute), s3Secret)
	m := x.scannedSince(time.Time{}, "lake", "parted", "nested", "flat")
	for table := range layouts {
		m.equals(t, "lake", "sales", table, server.storage(t, lake, table))
		// The pages, the last one of each part, and those that tell of directories.
		if all, most := overlaps[table].counts(); all > objects/1000+10 || table != "flat" && most < 2 {
			t.Errorf("%s: it took %d listings, at most %d at once", table, all, most)
		}
	}
	listed := 0
	for _, r := range server.take() {
		if isListing(r) {
			listed++
		}
	}
	if told := m[`iceberg_exporter_storage_requests_total{operation="list"}`]; told != float64(listed) {
		t.Errorf("%v listings are told of, there were %d", told, listed)
	}
}

// A server may begin where it wants to: the parts of a listing pass over what is
// not theirs.
func TestStoragePagingInParts(t *testing.T) {
	t.Parallel()
	const objects = 12500
	server := startS3(t)
	lake := server.catalog(scratch(t), "lake", "s3")
	lake.write(t, "sales.orders", 2, nil)
	server.plantMany(t, "orders", objects, parted)
	var parts overlap
	server.obey(listing("orders", parts.slowly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		query.Del("start-after")
		r.URL.RawQuery = query.Encode()
		server.objects.ServeHTTP(w, r)
	}))))
	x := start(t, server.scans(lake, time.Minute), s3Secret)
	x.scannedSince(time.Time{}, "lake", "orders").equals(t, "lake", "sales", "orders", server.storage(t, lake, "orders"))
	if _, most := parts.counts(); most < 2 {
		t.Error("no two listings overlapped")
	}

	// Where one part of a listing fails, all of it does.
	server.obey(listing("orders", func(w http.ResponseWriter, r *http.Request) bool {
		return strings.Contains(r.URL.Query().Get("start-after"), "/part=8/") && forbid(w, r)
	}))
	m := start(t, server.scans(lake, time.Minute), s3Secret).until(func(m metrics) error {
		if _, ok := m.table("lake", "sales", "orders")["iceberg_table_orphan_scan_success"]; !ok {
			return errors.New("there was no scan")
		}
		return nil
	})
	of := m.table("lake", "sales", "orders")
	if files, ok := of["iceberg_table_orphan_files"]; ok || of["iceberg_table_orphan_scan_success"] != 0 {
		t.Errorf("of a listing that failed in part there are %v orphans", files)
	}
}
