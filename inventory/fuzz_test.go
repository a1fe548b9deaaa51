package inventory_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// checkKind fails for an error that does not say whose fault it is.
func checkKind(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, metadata.ErrCorrupt) && !errors.Is(err, metadata.ErrUnsupported) && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an error of no kind: %v", err)
	}
}

// watched fails for reads from elsewhere than the bucket of reports.
type watched struct {
	store
	t *testing.T
}

func (w watched) Open(ctx context.Context, file string) (io.ReadCloser, error) {
	if !strings.HasPrefix(file, "s3://reports/") {
		w.t.Errorf("%q is read", file)
	}
	return w.store.Open(ctx, file)
}

func FuzzManifest(f *testing.F) {
	seed := func(format, schema string) {
		m := store{}.report(format, schema, zip(""))
		text, err := json.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	seed("CSV", currentCSV)
	seed("CSV", versionCSV)
	seed("Parquet", "message s3.inventory {}")
	seed("ORC", "struct<bucket:string>")
	f.Add([]byte(`{"files": [{"key": "/etc/passwd", "size": -1, "MD5checksum": "é"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := store{"s3://reports/inv/lake/daily/data/0.csv": zip("")}
		s.publishText(manifestAt, text)
		_, err := walk(t.Context(), watched{s, t}, manifestAt, "s3://lake/t")
		checkKind(t, err)
	})
}

// FuzzCSV compares the rows that are understood with what the standard library
// makes of them.
func FuzzCSV(f *testing.F) {
	f.Add("\"lake\",\"t/a%20b+c\",\"1\",\"2026-11-28T12:00:00.000Z\",\"e\",\"STANDARD\"\n")
	f.Add("lake,t/a,1,2026-11-28T12:00:00Z,,\r\nlake,\"t/\"\"\",1,2026-11-28T12:00:00Z,\"\",")
	f.Add("\"lake\",\"t/%4\",\"-1\",\"\"")
	f.Fuzz(func(t *testing.T, text string) {
		s := store{}
		s.publish(manifestAt, s.report("CSV", currentCSV, zip(text)))
		got, err := walk(t.Context(), s, manifestAt, "s3://lake/t")
		checkKind(t, err)
		if err != nil {
			return
		}
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatalf("the standard library does not understand it: %v", err)
		}
		for _, row := range rows {
			key, err := url.QueryUnescape(row[1])
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(key, "t/") || strings.HasSuffix(key, "/") {
				continue
			}
			if len(got) == 0 || got[0].URI != "s3://lake/"+key || got[0].Size < 0 {
				t.Fatalf("got %+v, want %q", got, key)
			}
			got = got[1:]
		}
		if len(got) > 0 {
			t.Errorf("%+v too many", got)
		}
	})
}

func FuzzParquet(f *testing.F) {
	content, err := os.ReadFile("testdata/pyarrow.parquet")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add(parquetFile(f, parquetColumns(true), 64, []object{{key: "t/a", modified: noon}, {key: "t/b", marker: true}}))
	f.Fuzz(func(t *testing.T, content []byte) {
		s := store{}
		s.publish(manifestAt, s.report("Parquet", "", content))
		infos, err := walk(t.Context(), s, manifestAt, "s3://lake/t")
		checkKind(t, err)
		for _, info := range infos {
			if !strings.HasPrefix(info.URI, "s3://lake/t/") || info.Size < 0 {
				t.Errorf("%+v", info)
			}
		}
	})
}
