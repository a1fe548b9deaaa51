// Package config is the exporter's configuration: one YAML file, read strictly.
//
// Load reports every mistake at once, each with the file, the line and the path
// of the field. A loaded Config is complete (defaults filled in, tables carrying
// their effective settings) and is never changed afterwards.
package config

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// Config is a whole configuration file.
type Config struct {
	// Settings are the defaults that a table may override.
	Settings `yaml:",inline"`
	Scrape   Scrape    `yaml:"scrape"`
	Catalogs []Catalog `yaml:"catalogs"`
}

// Settings are what may be set for all tables and for each one.
type Settings struct {
	// SmallFileThreshold is the size in bytes below which a data file counts as small.
	SmallFileThreshold Size `yaml:"small_file_threshold"`
	// PartitionsTop is how many of a table's worst partitions are published.
	PartitionsTop int `yaml:"partitions_top"`
	// RecentWindow is how far back a commit counts as recent.
	RecentWindow Duration `yaml:"recent_window"`
	// Thresholds are the limits that the alert rules compare with.
	Thresholds Thresholds `yaml:"thresholds"`
	// OrphanScan says whether and when the table's storage is listed.
	OrphanScan OrphanScan `yaml:"orphan_scan"`
}

// Thresholds are published as iceberg_table_threshold. A nil one is switched
// off: it has no series, so its alert cannot fire.
type Thresholds struct {
	DataFiles            *Number   `yaml:"data_files"`
	AverageFileSizeBytes *Size     `yaml:"average_file_size_bytes"`
	SmallFileRatio       *Number   `yaml:"small_file_ratio"`
	Manifests            *Number   `yaml:"manifests"`
	Snapshots            *Number   `yaml:"snapshots"`
	CompactionAgeSeconds *Duration `yaml:"compaction_age_seconds"`
	SnapshotAgeSeconds   *Duration `yaml:"snapshot_age_seconds"`
	DeleteFileRatio      *Number   `yaml:"delete_file_ratio"`
	MetadataBytes        *Size     `yaml:"metadata_bytes"`
	OrphanRatio          *Number   `yaml:"orphan_ratio"`
}

// Values returns the limits that are set, by their published names.
func (t Thresholds) Values() map[string]float64 {
	values := map[string]float64{}
	number := func(name string, n *Number) {
		if n != nil {
			values[name] = float64(*n)
		}
	}
	size := func(name string, s *Size) {
		if s != nil {
			values[name] = float64(*s)
		}
	}
	duration := func(name string, d *Duration) {
		if d != nil {
			values[name] = d.Seconds()
		}
	}
	number("data_files", t.DataFiles)
	size("average_file_size_bytes", t.AverageFileSizeBytes)
	number("small_file_ratio", t.SmallFileRatio)
	number("manifests", t.Manifests)
	number("snapshots", t.Snapshots)
	duration("compaction_age_seconds", t.CompactionAgeSeconds)
	duration("snapshot_age_seconds", t.SnapshotAgeSeconds)
	number("delete_file_ratio", t.DeleteFileRatio)
	size("metadata_bytes", t.MetadataBytes)
	number("orphan_ratio", t.OrphanRatio)
	return values
}

// OrphanScan says whether and how often a table's storage is listed.
type OrphanScan struct {
	Enabled  bool     `yaml:"enabled"`
	Interval Duration `yaml:"interval"`
	// OlderThan is how old a file that nothing refers to must be to be an orphan.
	OlderThan Duration `yaml:"older_than"`
	// Inventory is the URI of an S3 Inventory that is read instead of listing.
	Inventory string `yaml:"inventory,omitempty"`
	// StateFile keeps the results over a restart. It is one for all tables.
	StateFile string `yaml:"state_file,omitempty"`
}

// Scrape bounds what a scrape may cost.
type Scrape struct {
	// Concurrency is how many tables of one catalog are refreshed at once.
	Concurrency int `yaml:"concurrency"`
	// TableTimeout bounds one table's refresh, in the background when the
	// scrape that asked for it is over.
	TableTimeout Duration `yaml:"table_timeout"`
	// MaxStaleness is how long the last good figures stand in for a failing refresh.
	MaxStaleness Duration `yaml:"max_staleness"`
	// ManifestCache bounds the manifest records kept in memory.
	ManifestCache Size `yaml:"manifest_cache"`
	// MaxMetadataSize is the largest metadata.json, uncompressed, that is read.
	MaxMetadataSize Size `yaml:"max_metadata_size"`
}

// CatalogType is a kind of catalog.
type CatalogType string

// The kinds of catalogs.
const (
	REST     CatalogType = "rest"
	Glue     CatalogType = "glue"
	Hive     CatalogType = "hive"
	SQL      CatalogType = "sql"
	Hadoop   CatalogType = "hadoop"
	Metadata CatalogType = "metadata"
)

// CatalogTypes lists the kinds of catalogs.
func CatalogTypes() []CatalogType { return []CatalogType{REST, Glue, Hive, SQL, Hadoop, Metadata} }

// Catalog is one catalog and the tables that are watched in it.
type Catalog struct {
	// Name is the catalog label, unique in the configuration.
	Name string      `yaml:"name"`
	Type CatalogType `yaml:"type"`
	URI  string      `yaml:"uri,omitempty"`
	// Warehouse is the root of a hadoop catalog, and what a REST catalog is asked for.
	Warehouse string `yaml:"warehouse,omitempty"`
	// Credential is the client_id:client_secret of OAuth2 (rest) or the
	// database password (sql).
	Credential     Secret `yaml:"credential,omitempty"`
	CredentialFile string `yaml:"credential_file,omitempty"`
	// Token is a bearer token (rest).
	Token     Secret `yaml:"token,omitempty"`
	TokenFile string `yaml:"token_file,omitempty"`
	// Properties go to iceberg-go under the names its users know. A property
	// that holds a secret may be given as NAME_file, the path of a file.
	Properties Properties `yaml:"properties,omitempty"`
	// AllowMovedPaths reads paths under a table's recorded location under the
	// place where the table was found (metadata, hadoop).
	AllowMovedPaths   bool     `yaml:"allow_moved_paths,omitempty"`
	DiscoveryInterval Duration `yaml:"discovery_interval"`
	// Exclude are globs of table names that are not watched.
	Exclude []string `yaml:"exclude,omitempty"`
	// Tables are the tables to watch; the first entry that matches a table
	// gives it its settings.
	Tables []Table `yaml:"tables"`
}

// Table is one entry of a catalog's tables.
type Table struct {
	// Name is namespace.table, exact or a glob.
	Name string `yaml:"name"`
	// Location is where the table lies (metadata): its directory or one metadata.json.
	Location string `yaml:"location,omitempty"`
	Settings `yaml:",inline"`
}

// IsGlob reports whether the entry may match several tables.
func (t Table) IsGlob() bool { return strings.ContainsAny(t.Name, "*?[") }

// Match returns the first entry that covers the table of this full name, and
// whether there is one. Excluded tables are covered by none.
func (c *Catalog) Match(name string) (Table, bool) {
	if slices.ContainsFunc(c.Exclude, func(glob string) bool { return matchGlob(glob, name) }) {
		return Table{}, false
	}
	for _, t := range c.Tables {
		if t.Name == name || t.IsGlob() && matchGlob(t.Name, name) {
			return t, true
		}
	}
	return Table{}, false
}

// matchGlob matches a name whose levels are joined with dots: `*`, `?` and
// `[...]` stay within a level, `**` stands for any number of levels.
func matchGlob(glob, name string) bool {
	return matchLevels(strings.Split(glob, "."), strings.Split(name, "."))
}

func matchLevels(pattern, levels []string) bool {
	// What follows the last `**` in the pattern, and the levels it was last tried
	// on. No other `**` need ever take in more: names come with requests, so long
	// ones must not cost more than their length.
	var after, tried []string
	for len(pattern) > 0 || len(levels) > 0 {
		if len(pattern) > 0 && pattern[0] == "**" {
			pattern = pattern[1:]
			after, tried = pattern, levels
			continue
		}
		if len(pattern) > 0 && len(levels) > 0 {
			if ok, err := path.Match(pattern[0], levels[0]); err == nil && ok {
				pattern, levels = pattern[1:], levels[1:]
				continue
			}
		}
		if len(tried) == 0 {
			return false
		}
		tried = tried[1:]
		pattern, levels = after, tried
	}
	return true
}

// Properties are a catalog's iceberg-go properties.
type Properties map[string]string

// MarshalYAML shows the properties with their secrets redacted.
func (p Properties) MarshalYAML() (any, error) {
	shown := maps.Clone(p)
	for key := range shown {
		switch {
		case IsSecretProperty(key):
			shown[key] = redacted
		case strings.Contains(shown[key], "://"):
			shown[key] = RedactURI(shown[key])
		}
	}
	return map[string]string(shown), nil
}

// defaults returns the configuration of an empty file.
func defaults() *Config {
	const day = Duration(24 * time.Hour)
	return &Config{
		Settings: Settings{
			SmallFileThreshold: 128 << 20,
			RecentWindow:       day,
			Thresholds: Thresholds{
				DataFiles:            new(Number(10000)),
				AverageFileSizeBytes: new(Size(128 << 20)),
				SmallFileRatio:       new(Number(0.5)),
				Manifests:            new(Number(500)),
				Snapshots:            new(Number(1000)),
				CompactionAgeSeconds: new(day),
				DeleteFileRatio:      new(Number(0.3)),
				MetadataBytes:        new(Size(50 << 20)),
				OrphanRatio:          new(Number(0.25)),
			},
			OrphanScan: OrphanScan{Interval: day, OlderThan: 3 * day},
		},
		Scrape: Scrape{
			Concurrency:     16,
			TableTimeout:    Duration(5 * time.Minute),
			MaxStaleness:    Duration(15 * time.Minute),
			ManifestCache:   256 << 20,
			MaxMetadataSize: 64 << 20,
		},
	}
}

// MayMatchIn reports whether a glob may cover some table of a namespace.
func (c *Catalog) MayMatchIn(namespace string) bool {
	return slices.ContainsFunc(c.Tables, func(t Table) bool {
		levels := strings.Split(t.Name, ".")
		if last := len(levels) - 1; levels[last] != "**" {
			levels = levels[:last] // Without that of the table.
		}
		return t.IsGlob() && matchLevels(levels, strings.Split(namespace, "."))
	})
}
