package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestExpandEnvironment(t *testing.T) {
	t.Setenv("ONE", "1")
	t.Setenv("NONE", "")
	t.Setenv("NESTED", "${ONE}")
	for text, want := range map[string]string{
		"":                     "",
		"plain":                "plain",
		"${ONE}":               "1",
		"a${ONE}b${ONE}${ONE}": "a1b11",
		"${NONE}":              "",
		"${NESTED}":            "${ONE}", // What a variable holds is not expanded again.
		"$${ONE}":              "${ONE}",
		"$$${ONE}":             "$${ONE}",
		"$ONE":                 "$ONE",
		"$":                    "$",
		"$$":                   "$$",
		"${ONE":                "${ONE",
		"p$a$$s{}":             "p$a$$s{}",
	} {
		if got, err := expandEnvironment(text); err != nil || got != want {
			t.Errorf("%q became %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"${NO_SUCH_VARIABLE}", "a ${ONE} ${NO_SUCH_VARIABLE} b"} {
		_, err := expandEnvironment(text)
		if err == nil || err.Error() != "the environment variable NO_SUCH_VARIABLE is not set" {
			t.Errorf("%q gave %v", text, err)
		}
	}
}

func TestEnvironmentInEveryKindOfValue(t *testing.T) {
	for name, value := range map[string]string{
		"SIZE": "3MiB", "INT": "4", "DURATION": "5h", "NUMBER": "0.75", "BOOL": "true", "TEXT": "hive", "SECRET": "planted-secret",
	} {
		t.Setenv(name, value)
	}
	c := parse(t, `
small_file_threshold: ${SIZE}
partitions_top: ${INT}
recent_window: ${DURATION}
thresholds: {small_file_ratio: "${NUMBER}"}
orphan_scan: {enabled: "${BOOL}"}
catalogs:
  - name: lake-${TEXT}
    type: ${TEXT}
    uri: thrift://${TEXT}:9083
    properties: {s3.region: "${TEXT}", "${NOT_A_VALUE}": x}
    exclude: ["${TEXT}.*"]
    tables: [{name: "${TEXT}.x"}]
`)
	catalog := c.Catalogs[0]
	if c.SmallFileThreshold != 3<<20 || c.PartitionsTop != 4 || c.RecentWindow.Seconds() != 5*3600 ||
		*c.Thresholds.SmallFileRatio != 0.75 || !c.OrphanScan.Enabled {
		t.Errorf("got %+v", c.Settings)
	}
	if catalog.Name != "lake-hive" || catalog.Type != Hive || catalog.URI != "thrift://hive:9083" ||
		catalog.Exclude[0] != "hive.*" || catalog.Tables[0].Name != "hive.x" {
		t.Errorf("got %+v", catalog)
	}
	if want := (Properties{"s3.region": "hive", "${NOT_A_VALUE}": "x"}); !reflect.DeepEqual(catalog.Properties, want) {
		t.Errorf("got %v", catalog.Properties)
	}
}

// TestErrorsNeverShowVariables puts a secret where it is wrong, in every field.
func TestErrorsNeverShowVariables(t *testing.T) {
	// It is no URI, no glob, no file and nothing else.
	const planted = "planted:%zz[.."
	t.Setenv("PLANTED", planted)
	told := mistakes(t, `
small_file_threshold: ${PLANTED}
partitions_top: ${PLANTED}
recent_window: ${PLANTED}
thresholds: {data_files: "${PLANTED}", metadata_bytes: "${PLANTED}", snapshot_age_seconds: "${PLANTED}"}
orphan_scan: {enabled: "${PLANTED}", interval: "${PLANTED}"}
catalogs:
  - {name: "${PLANTED}", type: "${PLANTED}"}
  - name: ${PLANTED}
    type: rest
    uri: ${PLANTED}
    credential_file: ${PLANTED}
    token_file: ${PLANTED}
    properties: {s3.secret-access-key_file: "${PLANTED}"}
    exclude: ["${PLANTED}"]
    tables: [{name: "*.${PLANTED}"}, {name: "*.${PLANTED}"}, {name: a.b, location: "${PLANTED}"}]
`)
	if len(told) != 19 {
		t.Errorf("%d mistakes are told:\n%s", len(told), strings.Join(told, "\n"))
	}
	for _, line := range told {
		if strings.Contains(line, "planted") || strings.Contains(line, "zz") {
			t.Errorf("a variable is shown: %s", line)
		}
	}
}

func TestAliases(t *testing.T) {
	c := parse(t, `
thresholds: &limits {data_files: 5}
catalogs:
  - name: a
    type: hadoop
    warehouse: /w
    properties: &s3
      s3.region: &region eu-west-1
    exclude: &hidden ["*.tmp_*"]
    tables: [{name: x.y, partitions_top: 3}]
  - name: b
    type: hadoop
    warehouse: *region
    properties: *s3
    exclude: *hidden
    tables:
      - name: x.y
        thresholds: *limits
`)
	a, b := c.Catalogs[0], c.Catalogs[1]
	if !reflect.DeepEqual(a.Properties, Properties{"s3.region": "eu-west-1"}) || !reflect.DeepEqual(a.Properties, b.Properties) {
		t.Errorf("got %v and %v", a.Properties, b.Properties)
	}
	if b.Warehouse != "eu-west-1" || !slices.Equal(b.Exclude, []string{"*.tmp_*"}) || b.Tables[0].PartitionsTop != 0 {
		t.Errorf("got %+v", b)
	}
	if !reflect.DeepEqual(b.Tables[0].Settings, c.Settings) {
		t.Errorf("got %+v", b.Tables[0].Settings)
	}
}

func TestAliasesThatAreWrong(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"merged": {"scrape: &s {concurrency: 1}\norphan_scan:\n  <<: *s", []string{"test.yml:3: orphan_scan.<<: merging is not supported: repeat the fields, or use an alias for the whole value"}},
		"itself": {"scrape: &s\n  concurrency: *s", []string{"test.yml:1: scrape.concurrency: wants a single value"}},
		"a list of itself": {"catalogs: &c\n- *c", []string{
			"test.yml:1: catalogs[0]: wants fields (name: value)",
			"test.yml:2: catalogs[0].name: is missing",
			"test.yml:2: catalogs[0].type: must be one of [rest glue hive sql hadoop metadata]",
		}},
		"a name": {"partitions_top: &p 1\n*p : 1", []string{"test.yml:2: has a field whose name is not a plain text"}},
		"two wrong values of one text": {"partitions_top: &p x\nscrape:\n  concurrency: *p", []string{
			`test.yml:1: partitions_top: "x" is not a whole number`, `test.yml:1: scrape.concurrency: "x" is not a whole number`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := mistakes(t, c.text)
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestAliasesDoNotExplode reads 3,000 aliases of 3,000 aliases of 3,000 texts.
func TestAliasesDoNotExplode(t *testing.T) {
	var text strings.Builder
	text.WriteString("catalogs:\n- &c\n  name: c\n  type: glue\n  exclude: &e [" + strings.Repeat("a.*,", 3000) + "]\n")
	text.WriteString(strings.Repeat("- *c\n", 3000))
	got := mistakes(t, text.String())
	if !slices.ContainsFunc(got, func(line string) bool {
		return strings.Contains(line, fmt.Sprintf("the file has more than %d values", maxValues))
	}) {
		t.Errorf("%d other mistakes are told", len(got))
	}
}
