package integration

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// barrier holds requests up.
type barrier struct {
	once              sync.Once
	reached, released chan struct{}
}

func newBarrier() *barrier {
	return &barrier{reached: make(chan struct{}), released: make(chan struct{})}
}

// wait holds a request up until the barrier is released.
func (b *barrier) wait(r *http.Request) {
	b.once.Do(func() { close(b.reached) })
	select {
	case <-b.released:
	case <-r.Context().Done():
	}
}

// before is a policy that holds a request up before it is answered.
func (b *barrier) before(_ http.ResponseWriter, r *http.Request) bool {
	b.wait(r)
	return false
}

// after is a policy that holds an answer up.
func (b *barrier) after(behind http.Handler) policy {
	return func(w http.ResponseWriter, r *http.Request) bool {
		return answerWith(behind, func(body []byte) []byte {
			b.wait(r)
			return body
		})(w, r)
	}
}

// passBy does something while a request is held up, once there is one.
func (b *barrier) passBy(t *testing.T, do func()) {
	t.Helper()
	select {
	case <-b.reached:
	case <-time.After(30 * time.Second):
		t.Fatal("the exporter did not send the request to hold up")
	}
	do()
	close(b.released)
}

// reading applies a policy to what the exporter reads of one file.
func reading(uri string, p policy) policy {
	return func(w http.ResponseWriter, r *http.Request) bool {
		return fromExporter(r) && strings.HasSuffix(r.URL.Path, keyOf(uri)) && p(w, r)
	}
}

// Tables change while they are scanned. What is new is no orphan, and what is
// gone by rights is not missing.
func TestStorageChanges(t *testing.T) {
	t.Parallel()
	server := startS3(t)
	lake := server.catalog(scratch(t), "lake", "s3")
	// scan is the first scan of a table, which the policy is in force for.
	scan := func(t *testing.T, table string, p policy, meanwhile func()) metrics {
		t.Helper()
		server.obey(p)
		t.Cleanup(func() { server.obey(nil) })
		x := start(t, server.scans(lake, 24*time.Second, table), s3Secret)
		meanwhile()
		m := x.scannedSince(time.Time{}, "lake", table)
		if told := x.told("lake", table, "failed"); len(told) > 0 {
			t.Errorf("there were failures: %s", told)
		}
		return m
	}
	// expire replaces all of a table, and deletes what that leaves behind.
	expire := func(table string) {
		before := lake.references(t, "sales."+table)
		lake.do(t, "overwrite", "sales."+table, nil)
		lake.do(t, "expire", "sales."+table, nil)
		server.remove(t, append(before["live"], before["historical"]...)...)
	}
	lists := func(table string) string {
		var current snapshot
		lake.ask(t, "current", "sales."+table, nil, &current)
		return current.ManifestList
	}
	fresh := func(t *testing.T, table string) {
		t.Helper()
		lake.write(t, "sales."+table, 2, nil)
		server.plant(t, "lake/sales/"+table+"/data/lost.parquet", 9, longAgo, "orphan")
	}

	t.Run("a commit before the answer", func(t *testing.T) {
		fresh(t, "early")
		b := newBarrier()
		m := scan(t, "early", listing("early", b.before), func() {
			b.passBy(t, func() { lake.do(t, "append", "sales.early", arguments{"times": 2}) })
		})
		m.equals(t, "lake", "sales", "early", server.storage(t, lake, "early"))
	})
	t.Run("a commit after the answer", func(t *testing.T) {
		fresh(t, "late")
		want := server.storage(t, lake, "late")
		b := newBarrier()
		m := scan(t, "late", listing("late", b.after(server.proxy)), func() {
			b.passBy(t, func() { lake.do(t, "append", "sales.late", nil) })
		})
		m.equals(t, "lake", "sales", "late", want)
	})
	t.Run("expiry during the listing", func(t *testing.T) {
		fresh(t, "expired")
		b := newBarrier()
		m := scan(t, "expired", listing("expired", b.before), func() { b.passBy(t, func() { expire("expired") }) })
		m.equals(t, "lake", "sales", "expired", server.storage(t, lake, "expired"))
	})
	t.Run("expiry while manifests are read", func(t *testing.T) {
		fresh(t, "reread")
		first := lists("reread")
		lake.do(t, "append", "sales.reread", nil)
		b := newBarrier()
		m := scan(t, "reread", reading(first, b.before), func() { b.passBy(t, func() { expire("reread") }) })
		m.equals(t, "lake", "sales", "reread", server.storage(t, lake, "reread"))
	})
	t.Run("expiry after the listing", func(t *testing.T) {
		fresh(t, "twice")
		// A commit during the listing, and while its list is read one more that takes the list away.
		b, again := newBarrier(), newBarrier()
		var want metrics
		m := scan(t, "twice", listing("twice", b.after(server.proxy)), func() {
			b.passBy(t, func() {
				want = server.storage(t, lake, "twice")
				lake.do(t, "append", "sales.twice", nil)
				server.obey(reading(lists("twice"), again.before))
			})
			again.passBy(t, func() { expire("twice") })
		})
		m.equals(t, "lake", "sales", "twice", want)
	})
	t.Run("objects vanish between pages", func(t *testing.T) {
		fresh(t, "vanishing")
		server.plantMany(t, "vanishing", 2500, flat)
		b := newBarrier()
		var want metrics
		m := scan(t, "vanishing", listing("vanishing", laterPage(b.before)), func() {
			b.passBy(t, func() {
				server.remove(t, "lake/sales/vanishing/data/lost-01507.parquet")
				want = server.storage(t, lake, "vanishing")
				// Of the first page, which is listed already, two more: the last one is where the second page begins.
				server.remove(t, "lake/sales/vanishing/data/lost-00007.parquet", "lake/sales/vanishing/data/lost-00997.parquet")
			})
		})
		m.equals(t, "lake", "sales", "vanishing", want)
	})
}
