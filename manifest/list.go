// Package manifest reads Iceberg manifest lists and manifests.
//
// A manifest can describe a hundred thousand files with statistics for each of
// their columns; what is asked of it needs some thirty bytes a file. ReadRecord
// streams a manifest into such a compact Record, and Cache keeps records, since
// manifests never change.
package manifest

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// Content is what a manifest tracks.
type Content int8

// The contents of manifests.
const (
	Data    Content = 0
	Deletes Content = 1
)

// UnknownSpec stands for the partition spec of a manifest that no list tells
// of: it is then the one that the manifest's own header names.
const UnknownSpec = -1

// File is one entry of a manifest list: a manifest.
type File struct {
	Path   string
	Length int64
	SpecID int
	// Content is Data in v1 lists, which do not say.
	Content Content
	// SequenceNumber is what entries of the manifest that carry none were
	// committed with; 0 in v1.
	SequenceNumber int64
	// Counted is whether the list tells how many entries the manifest has. v1
	// lists may not.
	Counted bool
	// LiveFiles and DeletedFiles are the entries for files that the table has,
	// and for files that the manifest's own commit removed.
	LiveFiles, DeletedFiles int64
}

func listFields() []field {
	return []field{
		{id: 500, names: []string{"manifest_path"}, required: true, compile: text(slotManifestPath)},
		{id: 501, names: []string{"manifest_length"}, required: true, compile: long(slotManifestLength)},
		{id: 502, names: []string{"partition_spec_id"}, required: true, compile: long(slotSpecID)},
		{id: 517, names: []string{"content"}, compile: long(slotContent)},
		{id: 515, names: []string{"sequence_number"}, compile: long(slotSequenceNumber)},
		{id: 504, names: []string{"added_files_count", "added_data_files_count"}, compile: long(slotAddedFiles)},
		{id: 505, names: []string{"existing_files_count", "existing_data_files_count"}, compile: long(slotExistingFiles)},
		{id: 506, names: []string{"deleted_files_count", "deleted_data_files_count"}, compile: long(slotDeletedFiles)},
		{id: 519, names: []string{"key_metadata"}, compile: text(slotKeyMetadata)},
	}
}

// maxManifests bounds a manifest list. Tables with a million manifests are
// beyond what an engine can plan.
const maxManifests = 1_000_000

// maxListPaths bounds all the paths of a manifest list together.
const maxListPaths = 64 << 20

// ReadList reads a manifest list. Its errors are metadata.ErrCorrupt or
// metadata.ErrUnsupported, or the reader's own.
func ReadList(r io.Reader) ([]File, error) {
	c, err := openContainer(r, listFields())
	if err != nil {
		return nil, err
	}
	defer c.close()
	var files []File
	var entry row
	pathBytes := 0
	for {
		if err := c.next(&entry); errors.Is(err, io.EOF) {
			return files, nil
		} else if err != nil {
			return nil, err
		}
		f, err := listed(&entry)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", len(files), err)
		}
		if len(files) == maxManifests {
			return nil, fmt.Errorf("%w: a manifest list of more than %d manifests", metadata.ErrUnsupported, maxManifests)
		}
		if pathBytes += len(f.Path); pathBytes > maxListPaths {
			return nil, fmt.Errorf("%w: a manifest list with paths of more than %d bytes", metadata.ErrUnsupported, maxListPaths)
		}
		files = append(files, f)
	}
}

// listed is the manifest that an entry of a list describes.
func listed(entry *row) (File, error) {
	f := File{
		Path:           string(entry.slots[slotManifestPath].bytes),
		Length:         entry.slots[slotManifestLength].long,
		SpecID:         int(entry.slots[slotSpecID].long),
		SequenceNumber: entry.slots[slotSequenceNumber].long,
	}
	if len(entry.slots[slotKeyMetadata].bytes) > 0 {
		return f, fmt.Errorf("%w: the manifest is encrypted", metadata.ErrUnsupported)
	}
	if f.Path == "" || f.Length < 0 || f.Length > maxExact {
		return f, fmt.Errorf("%w: manifest %q of length %d", metadata.ErrCorrupt, f.Path, f.Length)
	}
	added, existing, deleted := entry.slots[slotAddedFiles], entry.slots[slotExistingFiles], entry.slots[slotDeletedFiles]
	if added.set && existing.set && deleted.set {
		f.Counted, f.LiveFiles, f.DeletedFiles = true, added.long+existing.long, deleted.long
	}
	for _, count := range []int64{added.long, existing.long, deleted.long} {
		if count < 0 || count > math.MaxInt32 {
			return f, fmt.Errorf("%w: manifest %q of %d files", metadata.ErrCorrupt, f.Path, count)
		}
	}
	switch content := entry.slots[slotContent].long; content {
	case int64(Data), int64(Deletes):
		f.Content = Content(content)
	default:
		return f, fmt.Errorf("%w: manifest content %d", metadata.ErrUnsupported, content)
	}
	return f, nil
}
