package metadata

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxFormatVersion is the newest table format that is read. Version 4 may hold
// manifests in another file format.
const maxFormatVersion = 3

// Parse reads a metadata file, gzipped or not, of at most limit bytes
// uncompressed. Its errors are ErrCorrupt or ErrUnsupported, or the reader's own.
func Parse(r io.Reader, limit int64) (*Table, error) {
	source := &sourceReader{r: r}
	t, err := parseBounded(source, limit)
	switch {
	case err == nil:
		return t, nil
	case source.err != nil:
		// A store that fails says nothing about the file.
		return nil, source.err
	case errors.Is(err, ErrCorrupt), errors.Is(err, ErrUnsupported):
		return nil, err
	default:
		return nil, fmt.Errorf("%w metadata: %w", ErrCorrupt, err)
	}
}

// sourceReader keeps what the storage fails with.
type sourceReader struct {
	r   io.Reader
	err error
}

func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func parseBounded(r io.Reader, limit int64) (*Table, error) {
	plain, err := gunzip(r)
	if err != nil {
		return nil, err
	}
	bounded := &boundedReader{r: plain, left: limit, limit: limit}
	t, err := parse(json.NewDecoder(bounded))
	if err != nil {
		return nil, err
	}
	// What follows is nobody's business, but a checksum may be wrong.
	if _, err := io.Copy(io.Discard, bounded); err != nil {
		return nil, err
	}
	return t, t.complete()
}

// gunzip looks at the content, not at the name: writers do not agree on names.
func gunzip(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	magic, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return buffered, nil
	}
	return gzip.NewReader(buffered)
}

// boundedReader fails, rather than ends, where there is more than it may read.
type boundedReader struct {
	r           io.Reader
	left, limit int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("%w: the metadata is larger than the limit of %d bytes; expire snapshots, or raise scrape.max_metadata_size", ErrUnsupported, b.limit)
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	return n, err
}

// These mirror the JSON of the Iceberg specification, appendix C.
type (
	rawSpec struct {
		ID     int        `json:"spec-id"`
		Fields []rawField `json:"fields"`
	}
	rawField struct {
		ID        int    `json:"field-id"`
		SourceID  *int   `json:"source-id"`
		Name      string `json:"name"`
		Transform string `json:"transform"`
	}
	rawSnapshot struct {
		ID             *SnapshotID       `json:"snapshot-id"`
		ParentID       *SnapshotID       `json:"parent-snapshot-id"`
		SequenceNumber int64             `json:"sequence-number"`
		TimestampMs    *int64            `json:"timestamp-ms"`
		ManifestList   string            `json:"manifest-list"`
		Manifests      []string          `json:"manifests"`
		Summary        map[string]string `json:"summary"`
		KeyID          string            `json:"key-id"`
	}
	rawRef struct {
		SnapshotID         *SnapshotID `json:"snapshot-id"`
		Type               string      `json:"type"`
		MaxRefAgeMs        *int64      `json:"max-ref-age-ms"`
		MaxSnapshotAgeMs   *int64      `json:"max-snapshot-age-ms"`
		MinSnapshotsToKeep *int64      `json:"min-snapshots-to-keep"`
	}
	rawLogEntry struct {
		File        string `json:"metadata-file"`
		TimestampMs int64  `json:"timestamp-ms"`
	}
	rawStatistics struct {
		Path string `json:"statistics-path"`
	}
)

// parser collects the top-level fields of a metadata file as they come.
type parser struct {
	table      *Table
	hasVersion bool
	hasSchema  bool
	// columns are the ids of the columns of each schema, by its id.
	columns         map[int]map[int]bool
	v1Columns       map[int]bool
	currentSchemaID *int
	v1Spec          []rawField
	specs           []rawSpec
	encrypted       bool
	mainRef         *SnapshotID
}

func parse(d *json.Decoder) (*Table, error) {
	p := &parser{table: &Table{Properties: map[string]string{}, snapshots: map[SnapshotID]int{}}, columns: map[int]map[int]bool{}}
	if err := object(d, p.field); err != nil {
		return nil, err
	}
	return p.finish()
}

// object calls field for every field of the JSON object that comes next; field
// must consume the value.
func object(d *json.Decoder, field func(d *json.Decoder, name string) error) error {
	if err := delimiter(d, '{'); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if err := field(d, name.(string)); err != nil {
			return err
		}
	}
	return delimiter(d, '}')
}

// array decodes the JSON array that comes next element by element, so that a
// long one is never held whole. null is an empty array.
func array[T any](d *json.Decoder, element func(T) error) error {
	token, err := d.Token()
	if err != nil || token == nil {
		return err
	}
	if token != json.Delim('[') {
		return fmt.Errorf("%w metadata: an array was expected, not %v", ErrCorrupt, token)
	}
	for d.More() {
		var value T
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := element(value); err != nil {
			return err
		}
	}
	return delimiter(d, ']')
}

func delimiter(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if token != want {
		return fmt.Errorf("%w metadata: %v was expected, not %v", ErrCorrupt, want, token)
	}
	return nil
}

func (p *parser) field(d *json.Decoder, name string) error {
	t := p.table
	switch name {
	case "format-version":
		p.hasVersion = true
		return d.Decode(&t.FormatVersion)
	case "table-uuid":
		return d.Decode(&t.UUID)
	case "location":
		return d.Decode(&t.Location)
	case "properties":
		return d.Decode(&t.Properties)
	case "default-spec-id":
		return d.Decode(&t.DefaultSpecID)
	case "current-snapshot-id":
		return d.Decode(&t.CurrentSnapshotID)
	case "schema":
		p.hasSchema = true
		var text json.RawMessage
		if err := d.Decode(&text); err != nil {
			return err
		}
		_, p.v1Columns = columns(text)
		return nil
	case "schemas":
		t.Schemas = 0
		return array(d, func(text json.RawMessage) error {
			t.Schemas++
			id, ids := columns(text)
			p.columns[id] = ids
			return bounded("schemas", t.Schemas)
		})
	case "current-schema-id":
		return d.Decode(&p.currentSchemaID)
	case "partition-spec":
		return d.Decode(&p.v1Spec)
	case "partition-specs":
		p.specs = nil
		return array(d, func(s rawSpec) error {
			p.specs = append(p.specs, s)
			return bounded("partition specs", len(p.specs))
		})
	case "snapshots":
		t.Snapshots = nil // The last of several fields counts, as everywhere.
		clear(t.snapshots)
		return array(d, p.snapshot)
	case "refs":
		return p.refs(d)
	case "metadata-log":
		t.MetadataLog = nil
		return array(d, func(e rawLogEntry) error {
			t.MetadataLog = append(t.MetadataLog, LogEntry(e))
			return bounded("metadata log entries", len(t.MetadataLog))
		})
	case "statistics", "partition-statistics":
		return array(d, func(s rawStatistics) error {
			t.StatisticsFiles = append(t.StatisticsFiles, s.Path)
			return bounded("statistics files", len(t.StatisticsFiles))
		})
	default:
		return skip(d)
	}
}

// maxElements bounds every list of a metadata file: a compressed file of a few
// kilobytes can hold millions of empty elements. Tables with a hundred thousand
// snapshots are far beyond what engines bear.
const maxElements = 300_000

func bounded(what string, n int) error {
	if n > maxElements {
		return fmt.Errorf("%w: more than %d %s", ErrUnsupported, maxElements, what)
	}
	return nil
}

// skip consumes the next value without keeping it.
func skip(d *json.Decoder) error {
	depth := 0
	for {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// spec tells which columns are dropped where the schema's columns are known.
func (s rawSpec) spec(columns map[int]bool) Spec {
	spec := Spec{ID: s.ID}
	for _, f := range s.Fields {
		spec.Fields = append(spec.Fields, SpecField{
			ID: f.ID, Name: f.Name, Transform: f.Transform,
			Dropped: len(columns) > 0 && f.SourceID != nil && !columns[*f.SourceID],
		})
	}
	return spec
}

func (p *parser) snapshot(raw rawSnapshot) error {
	if raw.ID == nil {
		return fmt.Errorf("%w metadata: a snapshot has no snapshot-id", ErrCorrupt)
	}
	if raw.TimestampMs == nil || *raw.TimestampMs < 0 {
		return fmt.Errorf("%w metadata: snapshot %d has no timestamp-ms", ErrCorrupt, *raw.ID)
	}
	if raw.KeyID != "" {
		p.encrypted = true
	}
	t := p.table
	if _, twice := t.snapshots[*raw.ID]; twice {
		return fmt.Errorf("%w metadata: there are two snapshots %d", ErrCorrupt, *raw.ID)
	}
	t.snapshots[*raw.ID] = len(t.Snapshots)
	s := Snapshot{
		ID: *raw.ID, ParentID: raw.ParentID, TimestampMs: *raw.TimestampMs, SequenceNumber: raw.SequenceNumber,
		ManifestList: raw.ManifestList, Manifests: raw.Manifests, Operation: Operation(raw.Summary["operation"]),
	}
	if s.Operation == "" {
		s.Operation = Overwrite
	}
	var err error
	if s.Summary, err = summarize(raw.Summary); err != nil {
		return fmt.Errorf("%w metadata: the summary of snapshot %d: %w", ErrCorrupt, s.ID, err)
	}
	t.Snapshots = append(t.Snapshots, s)
	return bounded("snapshots", len(t.Snapshots))
}

func summarize(raw map[string]string) (Summary, error) {
	var s Summary
	for key := range raw {
		if strings.HasPrefix(key, "added-") || strings.HasPrefix(key, "deleted-") || strings.HasPrefix(key, "removed-") || strings.HasPrefix(key, "total-") {
			s.Counted = true
		}
	}
	_, s.EntriesProcessed = raw["entries-processed"]
	for _, count := range []struct {
		key string
		to  *int64
	}{
		{"added-data-files", &s.AddedDataFiles},
		{"deleted-data-files", &s.DeletedDataFiles},
		{"added-delete-files", &s.AddedDeleteFiles},
		{"removed-delete-files", &s.RemovedDeleteFiles},
	} {
		if text, ok := raw[count.key]; ok {
			n, err := parseCount(count.key, text)
			if err != nil {
				return s, err
			}
			*count.to = n
		}
	}
	if text, ok := raw["added-files-size"]; ok {
		n, err := parseCount("added-files-size", text)
		if err != nil {
			return s, err
		}
		s.AddedFilesSize = &n
	}
	return s, nil
}

func parseCount(key, text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s is %q", key, text)
	}
	return n, nil
}

func (p *parser) refs(d *json.Decoder) error {
	var refs map[string]rawRef
	if err := d.Decode(&refs); err != nil {
		return err
	}
	for name, raw := range refs {
		if raw.SnapshotID == nil {
			return fmt.Errorf("%w metadata: ref %q has no snapshot-id", ErrCorrupt, name)
		}
		kind := RefType(strings.ToLower(raw.Type))
		if kind != Branch && kind != Tag {
			return fmt.Errorf("%w metadata: ref %q has type %q", ErrCorrupt, name, raw.Type)
		}
		if name == MainBranch {
			p.mainRef = raw.SnapshotID
		}
		p.table.Refs = append(p.table.Refs, Ref{
			Name: name, Type: kind, SnapshotID: *raw.SnapshotID,
			MaxRefAgeMs: raw.MaxRefAgeMs, MaxSnapshotAgeMs: raw.MaxSnapshotAgeMs, MinSnapshotsToKeep: raw.MinSnapshotsToKeep,
		})
	}
	return nil
}

// finish checks what only the whole file tells.
func (p *parser) finish() (*Table, error) {
	t := p.table
	switch {
	case !p.hasVersion || t.FormatVersion < 1:
		return nil, fmt.Errorf("%w metadata: no format-version", ErrCorrupt)
	case t.FormatVersion > maxFormatVersion:
		return nil, fmt.Errorf("%w: table format version %d; versions 1 to %d are read", ErrUnsupported, t.FormatVersion, maxFormatVersion)
	case p.encrypted || t.Properties["encryption.key-id"] != "":
		return nil, fmt.Errorf("%w: the table is encrypted, and its manifests cannot be read without its keys", ErrUnsupported)
	}
	if t.Schemas == 0 && p.hasSchema {
		t.Schemas = 1
	}
	columns := p.v1Columns
	if id := p.currentSchemaID; id != nil && p.columns[*id] != nil {
		columns = p.columns[*id]
	}
	if p.specs == nil {
		p.specs = []rawSpec{{Fields: p.v1Spec}}
	}
	for _, s := range p.specs {
		t.Specs = append(t.Specs, s.spec(columns))
	}
	// Writers have put -1 for "none", besides null and nothing at all.
	if id := t.CurrentSnapshotID; id != nil && *id == -1 {
		t.CurrentSnapshotID = nil
	}
	if t.CurrentSnapshotID == nil {
		t.CurrentSnapshotID = p.mainRef
	}
	return t, nil
}

// complete adds what follows from the rest and checks that references hold.
func (t *Table) complete() error {
	if t.CurrentSnapshotID == nil {
		return nil
	}
	current, ok := t.Current()
	if !ok {
		return fmt.Errorf("%w metadata: the current snapshot %d is not among the snapshots", ErrCorrupt, *t.CurrentSnapshotID)
	}
	for _, ref := range t.Refs {
		if ref.Name == MainBranch {
			return nil
		}
	}
	t.Refs = append(t.Refs, Ref{Name: MainBranch, Type: Branch, SnapshotID: current.ID})
	return nil
}
