package integration

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
)

const day = 24 * time.Hour

// longAgo is the age of what is old enough to be an orphan.
const longAgo = 4 * day

// at has the server date what is put meanwhile back.
func (s *s3Server) at(age time.Duration, put func()) {
	s.clock.behind.Store(int64(age))
	defer s.clock.behind.Store(0)
	put()
}

// plant puts an object of an age into the bucket, behind the back of Iceberg. Its
// table's scan must find that it has this state.
func (s *s3Server) plant(t *testing.T, key string, size int64, age time.Duration, state string) {
	t.Helper()
	s.at(age, func() {
		_, err := s.backend.PutObject(s3Bucket, key, map[string]string{}, bytes.NewReader(make([]byte, size)), size, nil)
		if err != nil {
			t.Fatal(err)
		}
	})
	s.planted[key] = state
}

// remove takes objects out of the bucket, likewise.
func (s *s3Server) remove(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if _, err := s.backend.DeleteObject(s3Bucket, key); err != nil {
			t.Error(err)
		}
	}
}

// keyOf is the key of an object in the bucket by its URI.
func keyOf(uri string) string {
	_, key, _ := strings.Cut(uri, "://"+s3Bucket+"/")
	return key
}

// references are the keys of all that a table refers to, by state.
func (c pyCatalog) references(t *testing.T, table string) map[string][]string {
	t.Helper()
	var uris map[string][]string
	c.ask(t, "references", table, nil, &uris)
	keys := map[string][]string{}
	for state, files := range uris {
		for _, uri := range files {
			keys[state] = append(keys[state], keyOf(uri))
		}
	}
	return keys
}

// storage is what a scan of a table in the namespace sales must find: what the
// bucket has, and why, as PyIceberg and the planting tell.
func (s *s3Server) storage(t *testing.T, lake pyCatalog, table string) metrics {
	t.Helper()
	_, location := lake.metadata(t, "sales."+table)
	below := &gofakes3.Prefix{HasPrefix: true, Prefix: keyOf(location) + "/"}
	states, missing := map[string]string{}, 0.0
	for state, keys := range lake.references(t, "sales."+table) {
		for _, key := range keys {
			states[key] = state
			if state == "live" && strings.HasPrefix(key, below.Prefix) {
				missing++
			}
		}
	}
	listed, err := s.backend.ListBucket(s3Bucket, below, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	files, total := map[string]float64{}, map[string]float64{}
	for _, object := range listed.Contents {
		if strings.HasSuffix(object.Key, "/") {
			continue // A directory, as consoles and PyArrow make them.
		}
		state, known := s.planted[object.Key]
		if of, referenced := states[object.Key]; referenced {
			state, known = of, true
		}
		if !known { // What PyIceberg wrote, and no longer refers to.
			state = "recent"
			if time.Since(object.LastModified.Time) > longAgo {
				state = "orphan"
			}
		}
		if state == "live" {
			missing--
		}
		files[state]++
		total[state] += float64(object.Size)
	}
	want := metrics{
		"iceberg_table_orphan_scan_success": 1, "iceberg_table_missing_files": missing,
		"iceberg_table_orphan_files": files["orphan"], "iceberg_table_orphan_bytes": total["orphan"],
	}
	var all float64
	for _, state := range []string{"live", "historical", "metadata", "recent", "orphan", "hidden"} {
		want[`iceberg_table_storage_files{state="`+state+`"}`] = files[state]
		want[`iceberg_table_storage_bytes{state="`+state+`"}`] = total[state]
		all += total[state]
	}
	want["iceberg_table_orphan_ratio"] = total["orphan"] / all
	return want
}

// layout is how the names of objects in a data directory are made of numbers:
// the object's, that of one of 16 directories and that of one of 12.
type layout string

const (
	parted layout = "part=%[2]d/lost-%05[1]d.parquet"
	nested layout = "year=2026/month=%02[3]d/lost-%05[1]d.parquet"
	flat   layout = "lost-%05[1]d.parquet"
)

// plantMany puts orphans into a table's data directory.
func (s *s3Server) plantMany(t *testing.T, table string, n int, names layout) {
	t.Helper()
	for i := range n {
		key := fmt.Sprintf("lake/sales/"+table+"/data/"+string(names)+"%.0[2]d%.0[3]d", i, i%16, i%12)
		s.plant(t, key, int64(i%7), longAgo, "orphan")
	}
}
