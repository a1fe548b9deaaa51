package config

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const example = "../config.example.yml"

func TestExampleShowsDefaults(t *testing.T) {
	c, err := Load(example)
	if err != nil {
		t.Fatal(err)
	}
	if want := defaults(); !reflect.DeepEqual(c.Settings, want.Settings) || !reflect.DeepEqual(c.Scrape, want.Scrape) {
		t.Errorf("got %+v and %+v, want %+v and %+v", c.Settings, c.Scrape, want.Settings, want.Scrape)
	}
	if got := c.Catalogs[0].DiscoveryInterval; got != defaultDiscoveryInterval {
		t.Errorf("the discovery_interval is %v", got)
	}
	types := CatalogTypes()
	for _, catalog := range c.Catalogs {
		types = slices.DeleteFunc(types, func(kind CatalogType) bool { return kind == catalog.Type })
	}
	if len(types) > 0 {
		t.Errorf("catalogs of type %v are missing", types)
	}
}

// fieldNames returns the names of all fields of the configuration.
func fieldNames() []string {
	names := map[string]bool{}
	var visit func(kind reflect.Type)
	visit = func(kind reflect.Type) {
		switch kind.Kind() {
		case reflect.Slice, reflect.Pointer:
			visit(kind.Elem())
		case reflect.Struct:
			for field := range kind.Fields() {
				if name, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); name != "" {
					names[name] = true
				}
				visit(field.Type)
			}
		}
	}
	visit(reflect.TypeFor[Config]())
	return slices.Sorted(maps.Keys(names))
}

// TestEveryFieldIsDocumented: the example has every field at the beginning of a
// line, set or commented out, with a comment behind it; the page has it in a table.
func TestEveryFieldIsDocumented(t *testing.T) {
	for file, pattern := range map[string]string{
		example:                    `(?m)^ *(# )?(- )?NAME:.* # \S`,
		"../docs/configuration.md": "(?m)^\\|[^|]*`([a-z_\\[\\]]+\\.)?NAME`[^|]*\\|",
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range fieldNames() {
			if name == "catalogs" || name == "scrape" || name == "orphan_scan" {
				if !strings.Contains(string(text), name) {
					t.Errorf("%s does not have %s", file, name)
				}
				continue
			}
			if !regexp.MustCompile(strings.ReplaceAll(pattern, "NAME", name)).Match(text) {
				t.Errorf("%s does not tell of %s", file, name)
			}
		}
	}
}
