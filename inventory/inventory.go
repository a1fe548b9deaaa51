// Package inventory reads S3 Inventory reports: listings of whole buckets that S3
// writes once a day or a week, as CSV or Parquet files beside a manifest.
//
// A report is older than a listing, and eventually consistent: an object of its
// day may be missing from it.
package inventory

import (
	"context"
	"crypto/md5" //nolint:gosec // The checksum of S3 Inventory. It finds damage; nothing trusts it.
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

const (
	manifestName = "manifest.json"
	checksumName = "manifest.checksum"
	// dated is how the directory of a report is named.
	dated = "2006-01-02T15-04Z"

	maxManifest = 64 << 20
	maxChecksum = 1 << 10
)

// Report is one report of one bucket. It is safe for concurrent use.
type Report struct {
	// Manifest is the URI of its manifest.
	Manifest string
	// Bucket is the bucket that it lists.
	Bucket string
	// Created is when S3 began to list the bucket.
	Created time.Time

	files  fileio.Files
	format string
	// columns are those of CSV files. Parquet files name their own.
	columns columns
	parts   []part
}

// part is one of the files of a report.
type part struct {
	uri  string
	size int64
	sum  [md5.Size]byte
}

// Formats, as the manifest names them.
const (
	formatCSV     = "CSV"
	formatParquet = "Parquet"
)

// Open finds the report at a URI, which is that of a manifest.json, or of the
// directory of an inventory configuration. Of such a directory it takes the newest
// complete report.
func Open(ctx context.Context, files fileio.Files, location string) (*Report, error) {
	if _, local := uri.Local(location); local {
		return nil, fmt.Errorf("%w: %s: an inventory is read from the bucket that S3 writes it to, not from a local disk", metadata.ErrUnsupported, location)
	}
	if uri.Base(location) == manifestName {
		return open(ctx, files, location)
	}
	var reports []string
	for info, err := range files.List(ctx, location) {
		if err != nil {
			return nil, err
		}
		name := uri.Base(info.URI)
		if _, err := time.Parse(dated, name); err == nil {
			reports = append(reports, name)
		}
	}
	slices.Sort(reports)
	for _, name := range slices.Backward(reports) {
		report, err := open(ctx, files, uri.Join(location, name, manifestName))
		if errors.Is(err, fs.ErrNotExist) {
			continue // Not complete yet.
		}
		return report, err
	}
	return nil, fmt.Errorf("%s has no directory like %s with a %s and a %s in it: %w", location, dated, manifestName, checksumName, fs.ErrNotExist)
}

// open opens the report of a manifest. S3 writes the checksum last: a report is
// complete when it is there.
func open(ctx context.Context, files fileio.Files, manifest string) (*Report, error) {
	checksum, err := readAll(ctx, files, uri.Join(uri.Dir(manifest), checksumName), maxChecksum)
	if err != nil {
		return nil, err
	}
	content, err := readAll(ctx, files, manifest, maxManifest)
	if err != nil {
		return nil, err
	}
	sum := md5.Sum(content) //nolint:gosec // As above.
	if !strings.EqualFold(strings.TrimSpace(string(checksum)), hex.EncodeToString(sum[:])) {
		return nil, fmt.Errorf("%w: %s does not have the checksum that %s says", metadata.ErrCorrupt, manifest, checksumName)
	}
	r, err := parseManifest(content, manifest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifest, err)
	}
	r.files = files
	return r, nil
}

func readAll(ctx context.Context, files fileio.Files, name string, limit int64) ([]byte, error) {
	opened, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	content, err := io.ReadAll(io.LimitReader(opened, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("%w: %s is larger than %d bytes", metadata.ErrUnsupported, name, limit)
	}
	return content, err
}

// parseManifest reads a manifest that was found at a URI.
//
// The files lie in the manifest's own bucket. The manifest names it too, but a
// copy of the report has the name of the original, and it is not for the content
// of a file to say which buckets are read.
func parseManifest(content []byte, manifest string) (*Report, error) {
	var m struct {
		SourceBucket      string `json:"sourceBucket"`
		CreationTimestamp string `json:"creationTimestamp"`
		FileFormat        string `json:"fileFormat"`
		FileSchema        string `json:"fileSchema"`
		Files             []struct {
			Key         string `json:"key"`
			Size        int64  `json:"size"`
			MD5checksum string `json:"MD5checksum"`
		} `json:"files"`
	}
	if err := json.Unmarshal(content, &m); err != nil {
		return nil, corrupt(err)
	}
	created, err := strconv.ParseInt(m.CreationTimestamp, 10, 64)
	if err != nil || created <= 0 {
		return nil, fmt.Errorf("%w: the creation timestamp is %q", metadata.ErrCorrupt, m.CreationTimestamp)
	}
	if m.SourceBucket == "" {
		return nil, fmt.Errorf("%w: the manifest names no source bucket", metadata.ErrCorrupt)
	}
	r := &Report{Manifest: manifest, Bucket: m.SourceBucket, Created: time.UnixMilli(created).UTC(), format: m.FileFormat}
	switch r.format {
	case formatParquet:
	case formatCSV:
		var names []string
		for name := range strings.SplitSeq(m.FileSchema, ",") {
			names = append(names, strings.TrimSpace(name))
		}
		if r.columns, err = findColumns(names, csvNames); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("%w: the report's files are of the format %q; set the inventory configuration to CSV or Parquet", metadata.ErrUnsupported, r.format)
	}
	bucket := uri.Scheme(manifest) + "://" + uri.Authority(manifest) + "/"
	for _, file := range m.Files {
		p := part{uri: bucket + file.Key, size: file.Size}
		n, err := hex.Decode(p.sum[:], []byte(file.MD5checksum[:min(len(file.MD5checksum), 2*len(p.sum))]))
		if file.Key == "" || file.Size < 0 || err != nil || n != len(p.sum) || len(file.MD5checksum) != 2*len(p.sum) {
			return nil, fmt.Errorf("%w: the file %q of %d bytes with the checksum %q", metadata.ErrCorrupt, file.Key, file.Size, file.MD5checksum)
		}
		r.parts = append(r.parts, p)
	}
	return r, nil
}

// Walk visits every object below a directory of the bucket that was current when
// the report was made, as Files.Walk does. What it visited counts only where it
// returns no error: that a file is damaged may be known at its end.
func (r *Report) Walk(ctx context.Context, directory string, visit func([]fileio.Info) error) error {
	directory = strings.TrimRight(directory, "/") + "/"
	if bucket := uri.Authority(directory); bucket != r.Bucket {
		return fmt.Errorf("%w: %s lists the bucket %q, not %q", metadata.ErrUnsupported, r.Manifest, r.Bucket, bucket)
	}
	root := uri.Scheme(directory) + "://" + r.Bucket + "/"
	w := &walk{root: root, prefix: []byte(directory[len(root):]), visit: visit}
	for _, p := range r.parts {
		if err := r.read(ctx, p, w); err != nil {
			return err
		}
	}
	return w.flush()
}

// read visits the objects of a file.
func (r *Report) read(ctx context.Context, p part, w *walk) error {
	opened, err := r.files.Open(ctx, p.uri)
	if err != nil {
		return err
	}
	defer opened.Close()
	source := &checkedReader{from: opened, want: p, sum: md5.New()} //nolint:gosec // As above.
	if r.format == formatCSV {
		err = readCSV(source, r.columns, w)
	} else {
		err = w.readParquet(ctx, source)
	}
	switch {
	case w.err != nil:
		return w.err
	case source.err != nil:
		return source.err
	case err != nil:
		return fmt.Errorf("%s: %w", p.uri, err)
	}
	return nil
}

// walk hands objects on in batches.
type walk struct {
	// root and a key are a URI.
	root   string
	prefix []byte
	visit  func([]fileio.Info) error
	// err is what visit failed with.
	err   error
	batch []fileio.Info
	name  []byte
	// content is the Parquet file that is read, whose memory the next one gets.
	content []byte
}

// batchSize is how many objects are visited at once: as many as a page of a
// listing has.
const batchSize = 1000

// wants reports whether a key is that of a file that is looked for.
func (w *walk) wants(key []byte) bool {
	return len(key) > len(w.prefix) && string(key[:len(w.prefix)]) == string(w.prefix) && key[len(key)-1] != '/'
}

// add visits an object, sooner or later.
func (w *walk) add(key []byte, size int64, modified time.Time) error {
	if w.batch == nil {
		w.batch = make([]fileio.Info, 0, batchSize)
	}
	w.name = append(append(w.name[:0], w.root...), key...)
	w.batch = append(w.batch, fileio.Info{URI: string(w.name), Size: size, ModTime: modified})
	if len(w.batch) < batchSize {
		return nil
	}
	return w.flush()
}

func (w *walk) flush() error {
	if len(w.batch) == 0 {
		return nil
	}
	w.err = w.visit(w.batch)
	w.batch = nil // visit may have kept it.
	return w.err
}

// corrupt marks an error as that of damaged data, unless it has its kind.
func corrupt(err error) error {
	if errors.Is(err, metadata.ErrCorrupt) || errors.Is(err, metadata.ErrUnsupported) {
		return err
	}
	return fmt.Errorf("%w: %w", metadata.ErrCorrupt, err)
}
