// Package interop compares what the exporter says with what Iceberg's Spark
// procedures then do: the predictions of package maintenance, and the orphans that
// package measure finds. run.sh makes tables, asks both and compares; what the
// engine did is recorded in testdata, and compared by the tests without it.
package interop

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/maintenance"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

// State is a table at one moment.
type State struct {
	Table     *metadata.Table
	Manifests []manifest.File
	Records   []*manifest.Record
}

// Load reads the table that a metadata file describes. The table's other files
// are looked for in the table's directory of the file system, wherever the
// metadata says that they are.
func Load(files fs.FS, metadataFile string) (*State, error) {
	s, err := LoadMetadata(files, metadataFile)
	if err != nil {
		return nil, err
	}
	current, ok := s.Table.Current()
	if !ok {
		return s, nil
	}
	l := &loader{files: files, directory: path.Dir(path.Dir(metadataFile)), location: strings.TrimSuffix(uri.Path(s.Table.Location), "/")}
	if s.Manifests, err = l.list(current); err != nil {
		return nil, err
	}
	for _, file := range s.Manifests {
		record, err := l.record(file)
		if err != nil {
			return nil, err
		}
		s.Records = append(s.Records, record)
	}
	return s, nil
}

// LoadMetadata reads a metadata file alone.
func LoadMetadata(files fs.FS, metadataFile string) (*State, error) {
	f, err := files.Open(metadataFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	table, err := metadata.Parse(f, math.MaxInt64)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", metadataFile, err)
	}
	return &State{Table: table}, nil
}

type loader struct {
	files               fs.FS
	directory, location string
}

func (l *loader) open(recorded string) (fs.File, error) {
	below, ok := strings.CutPrefix(uri.Path(recorded), l.location+"/")
	if !ok {
		return nil, fmt.Errorf("%s is not in the table's location", recorded)
	}
	return l.files.Open(path.Join(l.directory, below))
}

func (l *loader) list(snapshot metadata.Snapshot) ([]manifest.File, error) {
	if snapshot.ManifestList == "" {
		return l.inline(snapshot)
	}
	f, err := l.open(snapshot.ManifestList)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return manifest.ReadList(f)
}

// inline are the manifests that an old v1 snapshot names itself.
func (l *loader) inline(snapshot metadata.Snapshot) ([]manifest.File, error) {
	var manifests []manifest.File
	for _, name := range snapshot.Manifests {
		f, err := l.open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		manifests = append(manifests, manifest.File{Path: name, Length: info.Size(), SpecID: manifest.UnknownSpec})
	}
	return manifests, nil
}

func (l *loader) record(file manifest.File) (*manifest.Record, error) {
	f, err := l.open(file.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	record, err := manifest.ReadRecord(f, file, uri.LocationOf(l.location))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Path, err)
	}
	return record, nil
}

// Answers are predictions in the words of the procedures, by their names.
type Answers struct {
	RewriteDataFiles           DataFiles           `json:"rewrite_data_files"`
	RewritePositionDeleteFiles PositionDeleteFiles `json:"rewrite_position_delete_files"`
	RewriteManifests           Manifests           `json:"rewrite_manifests"`
	ExpireSnapshots            Snapshots           `json:"expire_snapshots"`
}

// DataFiles answers rewrite_data_files.
type DataFiles struct {
	Fails     bool  `json:"fails"`
	Groups    int64 `json:"file_groups"`
	Rewritten int64 `json:"rewritten_data_files_count"`
	Bytes     int64 `json:"rewritten_bytes_count"`
	Added     int64 `json:"added_data_files_count"`
}

// PositionDeleteFiles answers rewrite_position_delete_files.
type PositionDeleteFiles struct {
	Fails     bool  `json:"fails"`
	Groups    int64 `json:"file_groups"`
	Rewritten int64 `json:"rewritten_delete_files_count"`
	Bytes     int64 `json:"rewritten_bytes_count"`
}

// Manifests answers rewrite_manifests, whose own answer adds the contents up.
type Manifests struct {
	Fails            bool  `json:"fails"`
	RewrittenData    int64 `json:"rewritten_data_manifests"`
	AddedData        int64 `json:"added_data_manifests"`
	RewrittenDeletes int64 `json:"rewritten_delete_manifests"`
	AddedDeletes     int64 `json:"added_delete_manifests"`
}

// Snapshots answers expire_snapshots, whose own answer counts files.
type Snapshots struct {
	Fails   bool                  `json:"fails"`
	Expired []metadata.SnapshotID `json:"expired_snapshots"`
	Removed []string              `json:"removed_refs"`
}

// Answer predicts all procedures.
func (s *State) Answer(now time.Time) Answers {
	p := maintenance.Predict(s.Table, s.Manifests, s.Records)
	expiry := maintenance.ExpireSnapshots(s.Table, now)
	return Answers{
		DataFiles{p.DataFiles.Refusal != "", p.DataFiles.Groups, p.DataFiles.Files, p.DataFiles.Bytes, p.DataFiles.OutputFiles},
		PositionDeleteFiles{p.PositionDeleteFiles.Refusal != "", p.PositionDeleteFiles.Groups, p.PositionDeleteFiles.Files, p.PositionDeleteFiles.Bytes},
		Manifests{
			p.Manifests.Refusal != "", p.Manifests.Data.Rewritable, p.Manifests.Data.Output,
			p.Manifests.Deletes.Rewritable, p.Manifests.Deletes.Output,
		},
		Snapshots{expiry.Refusal != "", slices.Sorted(slices.Values(expiry.Snapshots)), expiry.Refs},
	}
}
