package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/iceberg-exporter/iceberg_exporter/metadata"
	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

// maxExact is the largest size or count that is believed: above it a float64,
// which is what Prometheus stores, is no longer exact.
const maxExact = 1 << 53

// maxEntries bounds what one manifest may make the reader keep. Manifests are
// split at 8 MiB, some ten thousand files, unless a writer is told otherwise.
const maxEntries = 5_000_000

// The statuses of manifest entries; those that are not deleted are live.
const (
	statusExisting = 0
	statusAdded    = 1
	statusDeleted  = 2
)

// Bounds on the texts of a manifest, which a small file can inflate to a great
// many long ones.
const (
	maxPath           = 32 << 10
	maxPartition      = 64 << 10
	maxPartitionBytes = 64 << 20
)

// filePathColumn is the reserved field id of file_path in position delete files.
const filePathColumn = 2147483546

// Field ids of the records that hold the partition tuple.
const (
	idDataFile  = 2
	idPartition = 102
)

func entryFields(content Content) []field {
	file := []field{
		{id: 134, names: []string{"content"}, compile: long(slotContent)},
		{id: 100, names: []string{"file_path"}, required: true, compile: text(slotFilePath)},
		{id: 101, names: []string{"file_format"}, compile: text(slotFileFormat)},
		{id: idPartition, names: []string{"partition"}, compile: partition},
		{id: 103, names: []string{"record_count"}, required: true, compile: long(slotRows)},
		{id: 104, names: []string{"file_size_in_bytes"}, required: true, compile: long(slotSize)},
	}
	if content == Data {
		file = append(file, field{id: 132, names: []string{"split_offsets"}, compile: offsets(slotSplits, slotLastSplit)})
	} else {
		file = append(file,
			field{id: 125, names: []string{"lower_bounds"}, compile: bound(filePathColumn, slotLowerPath)},
			field{id: 128, names: []string{"upper_bounds"}, compile: bound(filePathColumn, slotUpperPath)},
			field{id: 143, names: []string{"referenced_data_file"}, compile: text(slotReferencedFile)},
			field{id: 145, names: []string{"content_size_in_bytes"}, compile: long(slotContentSize)})
	}
	return []field{
		{id: 0, names: []string{"status"}, required: true, compile: long(slotStatus)},
		{id: 3, names: []string{"sequence_number", "data_sequence_number"}, compile: long(slotSequenceNumber)},
		{id: idDataFile, names: []string{"data_file"}, required: true, compile: nested(file)},
	}
}

// Files tells where the files are that a table's manifests name.
type Files interface {
	// Place returns the path at which a file is, in the form of uri.Path, and
	// where that is, seen from the table's location.
	Place(file string) (path string, place uri.Place)
}

// ReadRecord reads the manifest that a manifest list names as file. Its errors
// are metadata.ErrCorrupt or metadata.ErrUnsupported, or the reader's own.
func ReadRecord(r io.Reader, file File, files Files) (*Record, error) {
	c, err := openContainer(r, entryFields(file.Content))
	if err != nil {
		return nil, err
	}
	defer c.close()
	if file.SpecID == UnknownSpec {
		if file.SpecID, err = strconv.Atoi(string(c.properties["partition-spec-id"])); err != nil {
			return nil, fmt.Errorf("%w: the header does not tell the partition spec", metadata.ErrCorrupt)
		}
	}
	b := &recordBuilder{
		file:       file,
		files:      files,
		record:     &Record{SpecID: file.SpecID, Content: file.Content, PartitionFields: c.partitionFields},
		partitions: map[Partition]int{},
	}
	for key, value := range c.properties {
		b.record.HeaderBytes += int64(len(key) + len(value))
	}
	var entry row
	for n := 0; ; n++ {
		if err := c.next(&entry); errors.Is(err, io.EOF) {
			b.record.trim()
			return b.record, nil
		} else if err != nil {
			return nil, fmt.Errorf("entry %d: %w", n, err)
		}
		switch status := entry.slots[slotStatus].long; status {
		case statusExisting, statusAdded:
		case statusDeleted:
			continue
		default:
			return nil, fmt.Errorf("entry %d: %w: status %d", n, metadata.ErrUnsupported, status)
		}
		if b.record.Len() == maxEntries {
			return nil, fmt.Errorf("%w: a manifest of more than %d files", metadata.ErrUnsupported, maxEntries)
		}
		if err := b.add(&entry); err != nil {
			return nil, fmt.Errorf("entry %d: %w", n, err)
		}
	}
}

// recordBuilder turns entries into the rows of a record.
type recordBuilder struct {
	file       File
	files      Files
	record     *Record
	partitions map[Partition]int
	// partitionBytes is how long all the partitions are.
	partitionBytes int
}

func (b *recordBuilder) add(entry *row) error {
	kind, err := kindOf(entry)
	if err != nil {
		return err
	}
	path := entry.slots[slotFilePath].bytes
	if len(path) > maxPath || len(entry.partition) > maxPartition {
		return fmt.Errorf("%w: a path of %d bytes, or a partition of %d", metadata.ErrUnsupported, len(path), len(entry.partition))
	}
	at, place := b.files.Place(string(path))
	e := Entry{
		PathHash:       PathHash(at),
		Place:          place,
		Size:           entry.slots[slotSize].long,
		Rows:           entry.slots[slotRows].long,
		Kind:           kind,
		Partition:      b.partition(entry.partition),
		SequenceNumber: b.file.SequenceNumber,
	}
	if size := entry.slots[slotContentSize]; kind == DeletionVector && size.set {
		e.Size = size.long
	}
	if e.Size < 0 || e.Size > maxExact || e.Rows < 0 || e.Rows > maxExact {
		return fmt.Errorf("%w: %q has %d bytes and %d rows", metadata.ErrCorrupt, path, e.Size, e.Rows)
	}
	if b.partitionBytes > maxPartitionBytes {
		return fmt.Errorf("%w: a manifest with partitions of more than %d bytes", metadata.ErrUnsupported, maxPartitionBytes)
	}
	if sequence := entry.slots[slotSequenceNumber]; sequence.set {
		e.SequenceNumber = sequence.long
	}
	if kind == PositionDeletes || kind == DeletionVector {
		e.Referenced = b.referenced(entry)
	}
	// Offsets that go beyond the file are not believed, as in Iceberg's BaseFile.
	if kind == DataFile && entry.slots[slotLastSplit].long < e.Size {
		e.Splits = uint8(min(entry.slots[slotSplits].long, MaxSplits))
	}
	b.record.add(e)
	return nil
}

// kindOf follows the content alone, except that a position delete in a Puffin
// file is a deletion vector.
func kindOf(entry *row) (Kind, error) {
	switch content := entry.slots[slotContent].long; content {
	case 0:
		return DataFile, nil
	case 1:
		if bytes.EqualFold(entry.slots[slotFileFormat].bytes, []byte("puffin")) {
			return DeletionVector, nil
		}
		return PositionDeletes, nil
	case 2:
		return EqualityDeletes, nil
	default:
		return 0, fmt.Errorf("%w: file content %d", metadata.ErrUnsupported, content)
	}
}

// referenced finds the only data file that a position delete applies to: named,
// or told by equal bounds of the file_path column (org.apache.iceberg.util.ContentFileUtil).
func (b *recordBuilder) referenced(entry *row) uint64 {
	file := entry.slots[slotReferencedFile]
	if !file.set {
		file = samePath(entry.slots[slotLowerPath], entry.slots[slotUpperPath])
	}
	if !file.set {
		return 0
	}
	at, _ := b.files.Place(string(file.bytes))
	return PathHash(at)
}

// samePath returns the value of two bounds that are equal.
func samePath(lower, upper value) value {
	if !lower.set || !upper.set || !bytes.Equal(lower.bytes, upper.bytes) {
		return value{}
	}
	return lower
}

// partition returns the index of a tuple among the record's, adding a new one.
func (b *recordBuilder) partition(form []byte) int {
	if i, ok := b.partitions[Partition(form)]; ok {
		return i
	}
	i := len(b.record.partitions)
	p := Partition(form)
	b.partitions[p] = i
	b.record.partitions = append(b.record.partitions, p)
	b.partitionBytes += len(p)
	return i
}
