package config

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const defaultDiscoveryInterval = Duration(5 * time.Minute)

// maxPartitionsTop bounds the series that one table can add with its partitions.
const maxPartitionsTop = 100

// minOrphanAge is the youngest file that a scan may call an orphan: the engine
// refuses less, because a running commit's files are not referenced yet.
const minOrphanAge = Duration(24 * time.Hour)

// validate adds to the decoder's errors every value that decodes but makes no sense.
func validate(c *Config, d *decoder) {
	v := validator{d}
	v.settings("", c.Settings)
	v.scrape(c.Scrape)
	names := map[string]bool{}
	for i := range c.Catalogs {
		catalog := &c.Catalogs[i]
		at := fmt.Sprintf("catalogs[%d]", i)
		if catalog.Name != "" && names[catalog.Name] {
			v.fail(at+".name", "another catalog has this name")
		}
		names[catalog.Name] = true
		v.catalog(at, catalog)
	}
}

type validator struct{ *decoder }

// fail adds a mistake at the line of the nearest field that the file has.
func (v validator) fail(at, format string, args ...any) {
	line, known := v.lines[at]
	for parent := at; !known && parent != ""; line, known = v.lines[parent] {
		parent = parent[:max(strings.LastIndexByte(parent, '.'), 0)]
	}
	v.errors.add(at, line, fmt.Sprintf(format, args...))
}

func (v validator) settings(at string, s Settings) {
	// Every table carries the file's settings: tell a mistake where it stands.
	isSet := func(field string) bool { _, set := v.lines[join(at, field)]; return set }
	if isSet("partitions_top") && (s.PartitionsTop < 0 || s.PartitionsTop > maxPartitionsTop) {
		v.fail(join(at, "partitions_top"), "must be 0 to %d", maxPartitionsTop)
	}
	if isSet("small_file_threshold") && s.SmallFileThreshold == 0 {
		v.fail(join(at, "small_file_threshold"), "must be above 0")
	}
	if isSet("recent_window") && s.RecentWindow <= 0 {
		v.fail(join(at, "recent_window"), "must be above 0")
	}
	if isSet("orphan_scan.older_than") && s.OrphanScan.OlderThan < minOrphanAge {
		v.fail(join(at, "orphan_scan.older_than"), "must be at least 1d, or files of running commits count as orphans")
	}
	if isSet("orphan_scan.interval") && s.OrphanScan.Interval <= 0 {
		v.fail(join(at, "orphan_scan.interval"), "must be above 0")
	}
	if at != "" && isSet("orphan_scan.state_file") {
		v.fail(join(at, "orphan_scan.state_file"), "is one file for all tables: set it at the top")
	}
	if inventory := s.OrphanScan.Inventory; isSet("orphan_scan.inventory") && inventory != "" && !strings.HasPrefix(inventory, "s3://") {
		v.fail(join(at, "orphan_scan.inventory"), "wants s3://bucket/path: an inventory's manifest.json, or the directory of its dated reports")
	}
	for name, ratio := range map[string]*Number{
		"small_file_ratio": s.Thresholds.SmallFileRatio, "orphan_ratio": s.Thresholds.OrphanRatio,
	} {
		if isSet("thresholds."+name) && ratio != nil && *ratio > 1 {
			v.fail(join(at, "thresholds."+name), "is a ratio: must be 0 to 1")
		}
	}
}

func (v validator) scrape(s Scrape) {
	if s.Concurrency < 1 {
		v.fail("scrape.concurrency", "must be at least 1")
	}
	if s.TableTimeout <= 0 {
		v.fail("scrape.table_timeout", "must be above 0")
	}
	if s.MaxMetadataSize < 1 {
		v.fail("scrape.max_metadata_size", "must be above 0")
	}
}

func (v validator) catalog(at string, c *Catalog) {
	if c.Name == "" {
		v.fail(at+".name", "is missing")
	} else if !utf8.ValidString(c.Name) {
		v.fail(at+".name", "is not UTF-8")
	}
	if !slices.Contains(CatalogTypes(), c.Type) {
		v.fail(at+".type", "must be one of %v", CatalogTypes())
		return
	}
	v.catalogPlace(at, c)
	v.catalogSecrets(at, c)
	if c.AllowMovedPaths && c.Type != Metadata && c.Type != Hadoop {
		v.fail(at+".allow_moved_paths", "is for catalogs of type metadata and hadoop")
	}
	if c.DiscoveryInterval <= 0 {
		v.fail(at+".discovery_interval", "must be above 0")
	}
	for i, glob := range c.Exclude {
		v.glob(fmt.Sprintf("%s.exclude[%d]", at, i), glob)
	}
	if c.Type == Metadata && len(c.Tables) == 0 {
		v.fail(at+".tables", "is missing: a metadata catalog knows only the tables that it names")
	}
	names := map[string]bool{}
	for i, t := range c.Tables {
		here := fmt.Sprintf("%s.tables[%d]", at, i)
		if names[t.Name] && t.Name != "" {
			v.fail(here+".name", "another entry has this name: only the first would count")
		}
		names[t.Name] = true
		v.table(here, c.Type, t)
	}
}

// catalogPlace checks where the catalog is.
func (v validator) catalogPlace(at string, c *Catalog) {
	wantsURI := map[CatalogType]string{REST: "https://host/path", Hive: "thrift://host:9083", SQL: "sqlite:///path or postgresql://user@host/db"}
	example, wants := wantsURI[c.Type]
	switch {
	case wants && c.URI == "":
		v.fail(at+".uri", "is missing: a %s catalog wants %s", c.Type, example)
	case !wants && c.URI != "":
		v.fail(at+".uri", "is not for catalogs of type %s", c.Type)
	case wants:
		v.uri(at+".uri", c.Type, c.URI, example)
	}
	if c.Type == Hadoop && c.Warehouse == "" {
		v.fail(at+".warehouse", "is missing: a hadoop catalog wants the directory that its namespaces lie in")
	}
	if c.Type == Metadata && c.Warehouse != "" {
		v.fail(at+".warehouse", "is not for catalogs of type metadata: its tables have a location each")
	}
}

func (v validator) uri(at string, kind CatalogType, uri, example string) {
	parsed, err := url.Parse(uri)
	if err != nil {
		v.fail(at, "is not a URI: a %s catalog wants %s", kind, example)
		return
	}
	schemes := map[CatalogType][]string{
		REST: {"http", "https"}, Hive: {"thrift"}, SQL: {"sqlite", "postgresql", "postgres", "postgresql+psycopg2", "postgresql+psycopg"},
	}[kind]
	if !slices.Contains(schemes, parsed.Scheme) {
		v.fail(at, "a %s catalog wants %s", kind, example)
	}
}

// catalogSecrets checks that each secret is given once and can be read.
func (v validator) catalogSecrets(at string, c *Catalog) {
	for _, s := range []struct {
		name   string
		secret Secret
		file   string
		kinds  []CatalogType
	}{
		{"credential", c.Credential, c.CredentialFile, []CatalogType{REST, SQL}},
		{"token", c.Token, c.TokenFile, []CatalogType{REST}},
	} {
		if s.secret == "" && s.file == "" {
			continue
		}
		if !slices.Contains(s.kinds, c.Type) {
			name := s.name
			if s.secret == "" {
				name += secretFileSuffix
			}
			v.fail(at+"."+name, "is not for catalogs of type %s", c.Type)
		}
		if s.secret != "" && s.file != "" {
			v.fail(at+"."+s.name+secretFileSuffix, "stands beside %s: give one of the two", s.name)
		}
		v.secretFile(at+"."+s.name+secretFileSuffix, s.file)
	}
	for key, value := range c.Properties {
		name, isFile := strings.CutSuffix(key, secretFileSuffix)
		if !isFile {
			continue
		}
		if _, both := c.Properties[name]; both {
			v.fail(at+".properties."+key, "stands beside %s: give one of the two", name)
		}
		v.secretFile(at+".properties."+key, value)
	}
}

func (v validator) secretFile(at, file string) {
	if file == "" {
		return
	}
	if _, err := readSecretFile(file); err != nil {
		v.fail(at, "cannot be read: %v", err)
	}
}

func (v validator) table(at string, kind CatalogType, t Table) {
	v.settings(at, t.Settings)
	if t.Name == "" {
		v.fail(at+".name", "is missing")
		return
	}
	if !utf8.ValidString(t.Name) {
		v.fail(at+".name", "is not UTF-8")
	}
	if t.IsGlob() {
		v.glob(at+".name", t.Name)
	} else if !strings.Contains(t.Name, ".") {
		v.fail(at+".name", "wants namespace.table")
	}
	switch {
	case kind == Metadata && t.IsGlob():
		v.fail(at+".name", "a metadata catalog has nothing to list: name each table")
	case kind == Metadata && t.Location == "":
		v.fail(at+".location", "is missing: the table's directory or one metadata.json")
	case kind != Metadata && t.Location != "":
		v.fail(at+".location", "is for catalogs of type metadata: this catalog knows where its tables are")
	}
}

func (v validator) glob(at, glob string) {
	for level := range strings.SplitSeq(glob, ".") {
		if _, err := path.Match(level, ""); err != nil || level == "" {
			v.fail(at, "is not a glob")
			return
		}
	}
	if !strings.Contains(glob, ".") && glob != "**" {
		v.fail(at, "matches no table: wants namespace.table, or ** for every table")
	}
}
