package measure_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	iceberg "github.com/apache/iceberg-go"

	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/manifest/manifesttest"
	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

// TestFixturesEqualIcebergGo reads every manifest of the sample warehouse with
// iceberg-go's reader too, as far as it can read them.
func TestFixturesEqualIcebergGo(t *testing.T) {
	files, err := filepath.Glob("../testdata/warehouse/*/*/metadata/*.avro")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, path := range files {
		if strings.HasPrefix(filepath.Base(path), "snap-") {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []manifest.Content{manifest.Data, manifest.Deletes} {
			builder := iceberg.NewManifestFile(2, path, int64(len(content)), 0, 1).SequenceNum(5, 1)
			if kind == manifest.Deletes {
				builder = builder.Content(iceberg.ManifestContentDeletes)
			}
			theirs, err := iceberg.ReadManifest(builder.Build(), bytes.NewReader(content), true)
			if err != nil {
				continue
			}
			compared++
			ours, err := manifest.ReadRecord(bytes.NewReader(content), manifest.File{Content: kind, SequenceNumber: 5}, manifesttest.Files{})
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if ours.Len() != len(theirs) {
				t.Errorf("%s: %d files, iceberg-go has %d", path, ours.Len(), len(theirs))
				continue
			}
			for i, entry := range theirs {
				file, got := entry.DataFile(), ours.Entry(i)
				size := file.FileSizeBytes()
				if file.FileFormat() == iceberg.PuffinFile && file.ContentSizeInBytes() != nil {
					size = *file.ContentSizeInBytes()
				}
				if got.PathHash != manifest.PathHash(uri.Path(file.FilePath())) || got.Size != size || got.Rows != file.Count() {
					t.Errorf("%s: file %d: %+v, iceberg-go has %s %d %d", path, i, got, file.FilePath(), size, file.Count())
				}
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d manifests could be compared", compared)
	}
}
