package inventory_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/iceberg-exporter/iceberg_exporter/fileio"
)

const (
	configured = "s3://reports/inv/lake/daily"
	day        = "2026-11-29T01-00Z"
	manifestAt = configured + "/" + day + "/manifest.json"
)

// store is an object store: objects by their URIs.
type store map[string][]byte

func (s store) Open(ctx context.Context, file string) (io.ReadCloser, error) {
	content, ok := s[file]
	if !ok {
		return nil, fmt.Errorf("reading %s: %w", file, fs.ErrNotExist)
	}
	return io.NopCloser(&contextReader{ctx, bytes.NewReader(content)}), ctx.Err()
}

func (s store) List(_ context.Context, directory string) iter.Seq2[fileio.Info, error] {
	return func(yield func(fileio.Info, error) bool) {
		below := map[string]fileio.Info{}
		for name, content := range s {
			if rest, ok := strings.CutPrefix(name, strings.TrimRight(directory, "/")+"/"); ok {
				first, _, isDir := strings.Cut(rest, "/")
				below[first] = fileio.Info{URI: strings.TrimRight(directory, "/") + "/" + first, Size: int64(len(content)), IsDir: isDir}
			}
		}
		for _, info := range below {
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (s store) Stat(context.Context, string) (fileio.Info, error) { panic("not needed") }

func (s store) Walk(context.Context, string, func([]fileio.Info) error) error { panic("not needed") }

type contextReader struct {
	ctx  context.Context
	from io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}

// manifest is a manifest.json.
type manifest struct {
	SourceBucket      string `json:"sourceBucket"`
	DestinationBucket string `json:"destinationBucket"`
	Version           string `json:"version"`
	CreationTimestamp string `json:"creationTimestamp"`
	FileFormat        string `json:"fileFormat"`
	FileSchema        string `json:"fileSchema"`
	Files             []part `json:"files"`
}

type part struct {
	Key  string `json:"key"`
	Size int    `json:"size"`
	MD5  string `json:"MD5checksum"`
}

const (
	currentCSV = "Bucket, Key, Size, LastModifiedDate, ETag, StorageClass"
	versionCSV = "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, LastModifiedDate"
)

// report returns the manifest of a report with these files, which it stores.
func (s store) report(format, schema string, files ...[]byte) manifest {
	m := manifest{
		SourceBucket: "lake", DestinationBucket: "arn:aws:s3:::reports", Version: "2016-11-30",
		CreationTimestamp: "1795914000000", FileFormat: format, FileSchema: schema,
	}
	for i, content := range files {
		key := fmt.Sprintf("inv/lake/daily/data/%d.%s", i, strings.ToLower(format))
		s["s3://reports/"+key] = content
		m.Files = append(m.Files, part{Key: key, Size: len(content), MD5: sum(content)})
	}
	return m
}

// publish stores a manifest and its checksum.
func (s store) publish(at string, m manifest) {
	content, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	s.publishText(at, content)
}

func (s store) publishText(at string, content []byte) {
	s[at] = content
	s[strings.TrimSuffix(at, "json")+"checksum"] = []byte(sum(content))
}

func sum(content []byte) string { return fmt.Sprintf("%x", md5.Sum(content)) }

// object is a row of a report.
type object struct {
	key                string
	size               int64
	modified           time.Time
	noncurrent, marker bool
}

func zip(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.Bytes()
}

// csvFile is a file of a report with these objects, as S3 writes it.
func csvFile(objects []object, versions bool) []byte {
	var b strings.Builder
	for _, o := range objects {
		key := strings.ReplaceAll(url.QueryEscape(o.key), "%2F", "/")
		size, modified := fmt.Sprint(o.size), o.modified.UTC().Format("2006-01-02T15:04:05.000Z")
		if o.marker {
			size = ""
		}
		if versions {
			fmt.Fprintf(&b, "\"lake\",\"%s\",\"v\",\"%t\",\"%t\",\"%s\",\"%s\"\n", key, !o.noncurrent, o.marker, size, modified)
		} else {
			fmt.Fprintf(&b, "\"lake\",\"%s\",\"%s\",\"%s\",\"d41d8cd9\",\"STANDARD\"\n", key, size, modified)
		}
	}
	return zip(b.String())
}

// parquetColumn is a column of a Parquet file: values that some rows lack.
type parquetColumn struct {
	name    string
	logical schema.LogicalType
	kind    parquet.Type
	require bool
	value   func(object) (value any, ok bool)
}

func parquetColumns(versions bool) []parquetColumn {
	columns := []parquetColumn{
		{"bucket", schema.StringLogicalType{}, parquet.Types.ByteArray, true, func(object) (any, bool) { return parquet.ByteArray("lake"), true }},
		{"key", schema.StringLogicalType{}, parquet.Types.ByteArray, true, func(o object) (any, bool) { return parquet.ByteArray(o.key), true }},
		{"size", schema.NoLogicalType{}, parquet.Types.Int64, false, func(o object) (any, bool) { return o.size, !o.marker }},
		{"last_modified_date", schema.NewTimestampLogicalType(true, schema.TimeUnitMillis), parquet.Types.Int64, false, func(o object) (any, bool) { return o.modified.UnixMilli(), true }},
	}
	if versions {
		columns = append(columns,
			parquetColumn{"version_id", schema.StringLogicalType{}, parquet.Types.ByteArray, false, func(object) (any, bool) { return parquet.ByteArray("v"), true }},
			parquetColumn{"is_latest", schema.NoLogicalType{}, parquet.Types.Boolean, false, func(o object) (any, bool) { return !o.noncurrent, true }},
			parquetColumn{"is_delete_marker", schema.NoLogicalType{}, parquet.Types.Boolean, false, func(o object) (any, bool) { return o.marker, true }})
	}
	return columns
}

// parquetFile is a file with these columns and a row group for each slice of
// objects. Its pages are small, so that there are many.
func parquetFile(t testing.TB, columns []parquetColumn, pageSize int64, groups ...[]object) []byte {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var fields schema.FieldList
	for _, c := range columns {
		repetition := parquet.Repetitions.Optional
		if c.require {
			repetition = parquet.Repetitions.Required
		}
		node, err := schema.NewPrimitiveNodeLogical(c.name, repetition, c.logical, c.kind, 0, -1)
		must(err)
		fields = append(fields, node)
	}
	root, err := schema.NewGroupNode("s3.inventory", parquet.Repetitions.Required, fields, -1)
	must(err)
	var b bytes.Buffer
	w := file.NewParquetWriter(&b, root, file.WithWriterProps(parquet.NewWriterProperties(
		parquet.WithCompression(compress.Codecs.Snappy), parquet.WithDataPageSize(pageSize), parquet.WithBatchSize(64),
		parquet.WithDictionaryDefault(false), parquet.WithDictionaryFor("bucket", true))))
	for _, objects := range groups {
		group, err := w.AppendRowGroupChecked()
		must(err)
		for _, c := range columns {
			var levels []int16
			var values []any
			for _, o := range objects {
				value, ok := c.value(o)
				level := int16(0)
				if ok {
					level, values = 1, append(values, value)
				}
				levels = append(levels, level)
			}
			if c.require {
				levels = nil
			}
			column, err := group.NextColumn()
			must(err)
			switch column := column.(type) {
			case *file.ByteArrayColumnChunkWriter:
				_, err = column.WriteBatch(typed[parquet.ByteArray](values), levels, nil)
			case *file.Int64ColumnChunkWriter:
				_, err = column.WriteBatch(typed[int64](values), levels, nil)
			case *file.BooleanColumnChunkWriter:
				_, err = column.WriteBatch(typed[bool](values), levels, nil)
			}
			must(err)
			must(column.Close())
		}
		must(group.Close())
	}
	must(w.Close())
	return b.Bytes()
}

// tampered is a Parquet file whose first row group says that it has more rows than
// there are, or less.
func tampered(t testing.TB, content []byte, more int64) []byte {
	t.Helper()
	opened, err := file.NewParquetReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	about := opened.MetaData()
	about.RowGroups[0].NumRows += more
	var footer bytes.Buffer
	if _, err := about.WriteTo(&footer, nil); err != nil {
		t.Fatal(err)
	}
	end := len(content) - 8
	pages := content[:end-int(binary.LittleEndian.Uint32(content[end:]))]
	length := binary.LittleEndian.AppendUint32(nil, uint32(footer.Len()))
	return slices.Concat(pages, footer.Bytes(), length, []byte("PAR1"))
}

func typed[T any](values []any) []T {
	all := make([]T, 0, len(values))
	for _, v := range values {
		all = append(all, v.(T))
	}
	return all
}
