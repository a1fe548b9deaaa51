package inventory_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/inventory"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 123e6, time.UTC)

// walk reads the newest report and returns what it lists below a directory.
func walk(ctx context.Context, files fileio.Files, location, directory string) ([]fileio.Info, error) {
	report, err := inventory.Open(ctx, files, location)
	if err != nil {
		return nil, err
	}
	var batches [][]fileio.Info
	err = report.Walk(ctx, directory, func(infos []fileio.Info) error {
		batches = append(batches, infos)
		return nil
	})
	return slices.Concat(batches...), err
}

// formats make files of a report of two parts.
var formats = map[string]func(t testing.TB, s store, objects []object, versions bool) manifest{
	"CSV": func(_ testing.TB, s store, objects []object, versions bool) manifest {
		names := currentCSV
		if versions {
			names = versionCSV
		}
		half := len(objects) / 2
		return s.report("CSV", names, csvFile(objects[:half], versions), csvFile(objects[half:], versions))
	},
	"Parquet": func(t testing.TB, s store, objects []object, versions bool) manifest {
		half, quarter := len(objects)/2, len(objects)/4
		columns := parquetColumns(versions)
		return s.report("Parquet", "message s3.inventory { required binary bucket (UTF8); }",
			parquetFile(t, columns, 256, objects[:quarter], objects[quarter:half]), parquetFile(t, columns, 256, objects[half:]))
	},
}

// TestWalk reads objects with all sorts of keys.
func TestWalk(t *testing.T) {
	objects := []object{
		{key: "db/t/data/a b+c%20d=é\"',.parquet", size: 1, modified: noon},
		{key: "db/t/data/empty", size: 0, modified: noon.Add(time.Millisecond)},
		{key: "db/t//double", size: 3, modified: noon},
		{key: "db/t", size: 4, modified: noon},
		{key: "db/t/", size: 0, modified: noon},
		{key: "db/t/data/", size: 0, modified: noon},
		{key: "db/tt/data/x", size: 5, modified: noon},
		{key: "x/db/t/data/x", size: 6, modified: noon},
		{key: "db/t/../../../etc/passwd", size: 7, modified: noon},
		{key: "db/t/line\nbreak", size: 1 << 40, modified: noon},
	}
	replaced := []object{
		{key: "db/t/data/empty", size: 9, modified: noon.Add(-time.Hour), noncurrent: true},
		{key: "db/t/deleted", modified: noon, marker: true},
		{key: "db/t/deleted", size: 9, modified: noon.Add(-time.Hour), noncurrent: true},
		{key: "db/t/back", modified: noon, marker: true, noncurrent: true},
	}
	info := func(root string, of object) fileio.Info {
		return fileio.Info{URI: root + of.key, Size: of.size, ModTime: of.modified}
	}
	for format, build := range formats {
		for _, versions := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s versions=%t", format, versions), func(t *testing.T) {
				s, rows := store{}, objects
				if versions {
					rows = slices.Concat(replaced[:2], objects, replaced[2:])
				}
				s.publish(manifestAt, build(t, s, rows, versions))
				for _, c := range []struct {
					directory, root string
					want            []int
				}{
					{"s3://lake/db/t", "s3://lake/", []int{0, 1, 2, 8, 9}},
					{"s3a://lake/db/t/", "s3a://lake/", []int{0, 1, 2, 8, 9}},
					{"s3://lake/db/t/data", "s3://lake/", []int{0, 1}},
					{"s3://lake", "s3://lake/", []int{0, 1, 2, 3, 6, 7, 8, 9}},
					{"s3://lake/none", "s3://lake/", nil},
				} {
					var want []fileio.Info
					for _, i := range c.want {
						want = append(want, info(c.root, objects[i]))
					}
					got, err := walk(t.Context(), s, configured, c.directory)
					if err != nil || !slices.Equal(got, want) {
						t.Errorf("%s: %v\ngot  %+v\nwant %+v", c.directory, err, got, want)
					}
				}
			})
		}
	}
}

// TestWalkMany reads more rows than fit pages, batches and row groups, with
// values of all lengths.
func TestWalkMany(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var objects []object
	var want []fileio.Info
	for i := range 10_000 {
		o := object{
			key:  fmt.Sprintf("t/%d/%s", i, strings.Repeat("=", random.IntN(100))),
			size: random.Int64N(1 << 40), modified: noon.Add(time.Duration(random.IntN(1e9)) * time.Millisecond),
			noncurrent: random.IntN(3) == 0, marker: random.IntN(3) == 0,
		}
		o.key += "x"
		objects = append(objects, o)
		if !o.noncurrent && !o.marker {
			want = append(want, fileio.Info{URI: "s3://lake/" + o.key, Size: o.size, ModTime: o.modified})
		}
	}
	for format, build := range formats {
		t.Run(format, func(t *testing.T) {
			s := store{}
			s.publish(manifestAt, build(t, s, objects, true))
			got, err := walk(t.Context(), s, manifestAt, "s3://lake/t")
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%v: got %d, want %d, or other ones", err, len(got), len(want))
			}
		})
	}
}

// TestOtherWriter reads what testdata/report.py wrote.
func TestOtherWriter(t *testing.T) {
	content, err := os.ReadFile("testdata/pyarrow.parquet")
	if err != nil {
		t.Fatal(err)
	}
	s := store{}
	s.publish(manifestAt, s.report("Parquet", "", content))
	var want []fileio.Info
	for i := range 2500 {
		if i%7 != 0 && i%11 != 0 {
			want = append(want, fileio.Info{
				URI: fmt.Sprintf("s3://lake/t/k=%d/å +%%41%d.parquet", i, i), Size: int64(10 * i),
				ModTime: time.Date(2026, 11, 1, 0, i, 0, 0, time.UTC),
			})
		}
	}
	got, err := walk(t.Context(), s, configured, "s3://lake/t")
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: got %d, want %d, or other ones", err, len(got), len(want))
	}
}

func TestParquetTimestamps(t *testing.T) {
	for unit, value := range map[schema.TimeUnitType]int64{
		schema.TimeUnitMillis: noon.UnixMilli(), schema.TimeUnitMicros: noon.UnixMicro(), schema.TimeUnitNanos: noon.UnixNano(),
	} {
		columns := parquetColumns(false)
		columns[3].logical = schema.NewTimestampLogicalType(true, unit)
		columns[3].value = func(object) (any, bool) { return value, true }
		s := store{}
		s.publish(manifestAt, s.report("Parquet", "", parquetFile(t, columns, 1<<20, []object{{key: "t/a"}})))
		got, err := walk(t.Context(), s, configured, "s3://lake/t")
		if want := []fileio.Info{{URI: "s3://lake/t/a", ModTime: noon}}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: %+v, %v", unit, got, err)
		}
	}
}

// TestOpen finds the newest complete report.
func TestOpen(t *testing.T) {
	s := store{}
	m := s.report("CSV", currentCSV)
	publish := func(directory string) { s.publish(configured+"/"+directory+"/manifest.json", m) }
	publish("2025-12-31T23-59Z")
	publish(day)
	publish("hive")
	publish("z")
	publish("2026-13-01T00-00Z")
	publish("2026-11-29T01-00Z/2027-01-01T00-00Z")
	// S3 is still writing these.
	publish("2026-11-30T01-00Z")
	delete(s, configured+"/2026-11-30T01-00Z/manifest.checksum")
	publish("2026-12-01T01-00Z")
	delete(s, configured+"/2026-12-01T01-00Z/manifest.json")
	for _, location := range []string{configured, configured + "/", manifestAt} {
		r, err := inventory.Open(t.Context(), s, location)
		if err != nil {
			t.Fatal(err)
		}
		if r.Manifest != manifestAt || r.Bucket != "lake" || !r.Created.Equal(time.Date(2026, 11, 29, 1, 0, 0, 0, time.UTC)) {
			t.Errorf("%s: %+v", location, r)
		}
	}
	for _, location := range []string{"s3://reports/inv", "s3://reports/none", configured + "/2026-11-30T01-00Z/manifest.json"} {
		if _, err := inventory.Open(t.Context(), s, location); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", location, err)
		}
	}
	// A report that is damaged is not passed over for an older one.
	s[manifestAt] = append(s[manifestAt], ' ')
	if _, err := inventory.Open(t.Context(), s, configured); !errors.Is(err, metadata.ErrCorrupt) {
		t.Errorf("a manifest without its checksum: %v", err)
	}
}

// TestNoLocalFiles: who writes manifests must not have the exporter read its disk.
func TestNoLocalFiles(t *testing.T) {
	for _, location := range []string{"/reports", "reports/manifest.json", "file:///reports/manifest.json"} {
		if _, err := inventory.Open(t.Context(), fileio.New(t.Context(), nil, &fileio.Counter{}), location); !errors.Is(err, metadata.ErrUnsupported) {
			t.Errorf("%s: %v", location, err)
		}
	}
	for _, key := range []string{"/etc/passwd", "file:///etc/passwd", "../../etc/passwd", "s3://other/x"} {
		s := store{}
		m := s.report("CSV", currentCSV)
		m.DestinationBucket = "file:///"
		m.Files = []part{{Key: key, MD5: sum(nil)}}
		s.publish(manifestAt, m)
		if _, err := walk(t.Context(), s, configured, "s3://lake/t"); err == nil || !strings.Contains(err.Error(), "reading s3://reports/"+key+":") {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestManifestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*manifest)
		want   error
		text   string
	}{
		"ORC":            {func(m *manifest) { m.FileFormat = "ORC" }, metadata.ErrUnsupported, `"ORC"; set the inventory configuration to CSV or Parquet`},
		"no format":      {func(m *manifest) { m.FileFormat = "" }, metadata.ErrUnsupported, ""},
		"no size":        {func(m *manifest) { m.FileSchema = "Bucket, Key, LastModifiedDate" }, metadata.ErrUnsupported, "lacks the column Size; add this field"},
		"no date":        {func(m *manifest) { m.FileSchema = "Bucket, Key, Size" }, metadata.ErrUnsupported, "lacks the column LastModifiedDate; add this field"},
		"no key":         {func(m *manifest) { m.FileSchema = "" }, metadata.ErrUnsupported, "no column Key"},
		"versions":       {func(m *manifest) { m.FileSchema += ", VersionId, IsLatest" }, metadata.ErrUnsupported, "which are current"},
		"no bucket":      {func(m *manifest) { m.SourceBucket = "" }, metadata.ErrCorrupt, ""},
		"no time":        {func(m *manifest) { m.CreationTimestamp = "" }, metadata.ErrCorrupt, ""},
		"negative time":  {func(m *manifest) { m.CreationTimestamp = "-1" }, metadata.ErrCorrupt, ""},
		"negative size":  {func(m *manifest) { m.Files[0].Size = -1 }, metadata.ErrCorrupt, ""},
		"no checksum":    {func(m *manifest) { m.Files[0].MD5 = "" }, metadata.ErrCorrupt, ""},
		"long checksum":  {func(m *manifest) { m.Files[0].MD5 += "00" }, metadata.ErrCorrupt, ""},
		"other checksum": {func(m *manifest) { m.Files[0].MD5 = strings.Repeat("x", 32) }, metadata.ErrCorrupt, ""},
		"no file's key":  {func(m *manifest) { m.Files[0].Key = "" }, metadata.ErrCorrupt, ""},
	} {
		s := store{}
		m := s.report("CSV", currentCSV, zip(""))
		c.change(&m)
		s.publish(manifestAt, m)
		if _, err := inventory.Open(t.Context(), s, configured); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), manifestAt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for text, want := range map[string]error{
		"":                          metadata.ErrCorrupt,
		"[]":                        metadata.ErrCorrupt,
		`{"sourceBucket": "lake"`:   metadata.ErrCorrupt,
		strings.Repeat(" ", 65<<20): metadata.ErrUnsupported,
	} {
		s := store{}
		s.publishText(manifestAt, []byte(text))
		if _, err := inventory.Open(t.Context(), s, configured); !errors.Is(err, want) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func TestCSVErrors(t *testing.T) {
	const rest = `,"1","2026-11-28T12:00:00.000Z","e","STANDARD"` + "\n"
	for name, c := range map[string]struct{ rows, text string }{
		"few fields":     {`"lake","t/a"` + "\n", "line 2: corrupt: 2 fields instead of 6"},
		"many fields":    {`"lake","t/a","b"` + rest, "7 fields instead of 6"},
		"empty row":      {"\n", "1 fields instead of 6"},
		"open quote":     {`"lake","t/a` + "\n", "a quote is not closed"},
		"after a quote":  {`"lake","t/a"x` + rest, "text after a closing quote"},
		"within a field": {`"lake",t/a"x` + rest, "a quote within a field"},
		"bad escape":     {`"lake","t/%4"` + rest, `"%4"`},
		"no escape":      {`"lake","t/%zz"` + rest, `"%zz"`},
		"no size":        {`"lake","t/a","","2026-11-28T12:00:00.000Z","e","STANDARD"`, `"" is no size`},
		"negative size":  {`"lake","t/a","-1","2026-11-28T12:00:00.000Z","e","STANDARD"`, `"-1" is no size`},
		"no date":        {`"lake","t/a","1","","e","STANDARD"`, `"" is no date`},
		"long row":       {`"lake","t/a","1","2026-11-28T12:00:00.000Z","e","` + strings.Repeat("x", 1<<20), "buffer full"},
	} {
		s := store{}
		s.publish(manifestAt, s.report("CSV", currentCSV, zip(`"lake","t/a"`+rest+c.rows)))
		checkDamage(t, name, s, c.text)
	}
	for _, row := range []string{
		`"lake","t/a","v","","false","1","2026-11-28T12:00:00.000Z"`,
		`"lake","t/a","v","true","1","1","2026-11-28T12:00:00.000Z"`,
	} {
		s := store{}
		s.publish(manifestAt, s.report("CSV", versionCSV, zip(row)))
		checkDamage(t, row, s, "is neither true nor false")
	}
}

// checkDamage walks a report whose first file is damaged.
func checkDamage(t *testing.T, name string, s store, text string) {
	t.Helper()
	_, err := walk(t.Context(), s, configured, "s3://lake/t")
	if !errors.Is(err, metadata.ErrCorrupt) || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "s3://reports/inv/lake/daily/data/0.") {
		t.Errorf("%s: %v", name, err)
	}
}

// TestSpellings: fields need no quotes, lines may end otherwise.
func TestSpellings(t *testing.T) {
	for _, text := range []string{
		"lake,t%2Fa+%2B,1,2026-11-28T12:00:00.123Z,e,STANDARD",
		"\"lake\",t/a%20%2b,\"1\",2026-11-28T12:00:00.123Z,\"a \"\"quoted\"\" tag, with a comma\",\"STANDARD\"\r\n",
		"lake,t/a %2B,1,2026-11-28T14:00:00.123+02:00,,\n",
	} {
		s := store{}
		s.publish(manifestAt, s.report("CSV", currentCSV, zip(text)))
		got, err := walk(t.Context(), s, configured, "s3://lake/t")
		if err != nil || len(got) != 1 || got[0].URI != "s3://lake/t/a +" || got[0].Size != 1 || !got[0].ModTime.Equal(noon) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// TestDamage changes a file of a report after its manifest was written, and also
// the manifest where that would tell.
func TestDamage(t *testing.T) {
	objects := slices.Repeat([]object{{key: "t/a", size: 1, modified: noon}}, 500)
	for format, build := range formats {
		for name, c := range map[string]struct {
			change func([]byte) []byte
			text   string
		}{
			"truncated": {func(b []byte) []byte { return b[:len(b)-1] }, "the file ends after"},
			"empty":     {func([]byte) []byte { return nil }, "the file ends after 0 of"},
			"longer":    {func(b []byte) []byte { return append(b, 0) }, "longer than"},
			"flipped":   {func(b []byte) []byte { b[len(b)/2] ^= 1; return b }, ""},
			// There, gzip has a time, and Parquet a column that nobody reads.
			"unread": {func(b []byte) []byte { b[5] ^= 1; return b }, "does not have the checksum"},
		} {
			s := store{}
			m := build(t, s, objects, true)
			s.publish(manifestAt, m)
			at := "s3://reports/" + m.Files[0].Key
			s[at] = c.change(s[at])
			checkDamage(t, format+" "+name, s, c.text)
		}
		for name, change := range map[string]func([]byte) []byte{
			"truncated": func(b []byte) []byte { return b[:len(b)*2/3] },
			"encrypted": func(b []byte) []byte { return bytes.Repeat([]byte("?"), len(b)) },
			"empty":     func([]byte) []byte { return nil },
			"PARE":      func(b []byte) []byte { return append(b[:len(b)-4], "PARE"...) },
		} {
			s := store{}
			m := build(t, s, objects, true)
			at := "s3://reports/" + m.Files[0].Key
			s[at] = change(s[at])
			m.Files[0].Size, m.Files[0].MD5 = len(s[at]), sum(s[at])
			s.publish(manifestAt, m)
			checkDamage(t, format+" consistently "+name, s, "")
		}
	}
}

func TestParquetErrors(t *testing.T) {
	objects := []object{{key: "t/a", size: 1, modified: noon}}
	without := func(names ...string) []parquetColumn {
		return slices.DeleteFunc(parquetColumns(true), func(c parquetColumn) bool { return slices.Contains(names, c.name) })
	}
	with := func(name string, change func(*parquetColumn)) []parquetColumn {
		columns := parquetColumns(true)
		i := slices.IndexFunc(columns, func(c parquetColumn) bool { return c.name == name })
		change(&columns[i])
		return columns
	}
	null := func(c *parquetColumn) { c.value = func(object) (any, bool) { return nil, false } }
	for name, c := range map[string]struct {
		columns []parquetColumn
		want    error
		text    string
	}{
		"no key":      {without("key"), metadata.ErrUnsupported, "no column key"},
		"no size":     {without("size"), metadata.ErrUnsupported, "lacks the column Size; add this field"},
		"no date":     {without("last_modified_date"), metadata.ErrUnsupported, "lacks the column LastModifiedDate; add this field"},
		"no latest":   {without("is_latest"), metadata.ErrUnsupported, "which are current"},
		"no marker":   {without("is_delete_marker"), metadata.ErrUnsupported, "which are current"},
		"null size":   {with("size", null), metadata.ErrCorrupt, "without a size or a date"},
		"null date":   {with("last_modified_date", null), metadata.ErrCorrupt, "without a size or a date"},
		"null latest": {with("is_latest", null), metadata.ErrCorrupt, "no is_latest"},
		"null marker": {with("is_delete_marker", null), metadata.ErrCorrupt, "no is_delete_marker"},
		"negative size": {with("size", func(c *parquetColumn) {
			c.value = func(object) (any, bool) { return int64(-1), true }
		}), metadata.ErrCorrupt, "without a size or a date"},
		"a plain number for a date": {with("last_modified_date", func(c *parquetColumn) {
			c.logical = schema.NoLogicalType{}
		}), metadata.ErrUnsupported, "not one of timestamps"},
		"text for a size": {with("size", func(c *parquetColumn) {
			c.kind, c.value = parquet.Types.ByteArray, func(object) (any, bool) { return parquet.ByteArray("1"), true }
		}), metadata.ErrUnsupported, "the column size is of the type"},
	} {
		s := store{}
		s.publish(manifestAt, s.report("Parquet", "", parquetFile(t, c.columns, 1<<20, objects)))
		_, err := walk(t.Context(), s, configured, "s3://lake/t")
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "data/0.parquet") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for more, text := range map[int64]string{-1: "more keys than rows", 1: "row 1: the column key: corrupt: unexpected EOF"} {
		s := store{}
		s.publish(manifestAt, s.report("Parquet", "", tampered(t, parquetFile(t, parquetColumns(true), 1<<20, objects), more)))
		checkDamage(t, fmt.Sprintf("%+d rows", more), s, text)
	}
	s := store{}
	m := s.report("Parquet", "", []byte("x"))
	m.Files[0].Size = 1<<30 + 1
	s.publish(manifestAt, m)
	if _, err := walk(t.Context(), s, configured, "s3://lake/t"); !errors.Is(err, metadata.ErrUnsupported) {
		t.Errorf("a large file: %v", err)
	}
}

func TestOtherErrors(t *testing.T) {
	objects := slices.Repeat([]object{{key: "t/a", size: 1, modified: noon}}, 3000)
	for format, build := range formats {
		s := store{}
		m := build(t, s, objects, false)
		s.publish(manifestAt, m)
		report, err := inventory.Open(t.Context(), s, configured)
		if err != nil {
			t.Fatal(err)
		}
		ignore := func([]fileio.Info) error { return nil }
		if err := report.Walk(t.Context(), "s3://other/t", ignore); !errors.Is(err, metadata.ErrUnsupported) || !strings.Contains(err.Error(), `lists the bucket "lake", not "other"`) {
			t.Errorf("%s: another bucket: %v", format, err)
		}
		enough, visits := errors.New("enough"), 0
		err = report.Walk(t.Context(), "s3://lake/t", func([]fileio.Info) error { visits++; return enough })
		if err != enough || visits != 1 { //nolint:errorlint // As it is.
			t.Errorf("%s: an error of visit: %v after %d visits", format, err, visits)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err = report.Walk(ctx, "s3://lake/t", func([]fileio.Info) error { cancel(); return nil })
		if !errors.Is(err, context.Canceled) || errors.Is(err, metadata.ErrCorrupt) {
			t.Errorf("%s: cancelled: %v", format, err)
		}
		delete(s, "s3://reports/"+m.Files[1].Key)
		if err := report.Walk(t.Context(), "s3://lake/t", ignore); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a file that is gone: %v", format, err)
		}
	}
}
