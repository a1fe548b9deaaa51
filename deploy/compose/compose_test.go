// Package compose has no code: this tests what can be tested of the compose file without containers.
package compose

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type composeFile struct {
	Name     string             `yaml:"name"`
	Services map[string]service `yaml:"services"`
}

type service struct {
	Build       string            `yaml:"build"`
	Image       string            `yaml:"image"`
	WorkingDir  string            `yaml:"working_dir"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Volumes     []string          `yaml:"volumes"`
	Ports       []string          `yaml:"ports"`
	DependsOn   []string          `yaml:"depends_on"`
}

func load(t *testing.T) composeFile {
	t.Helper()
	var file composeFile
	decode(t, "compose.yml", &file)
	return file
}

// decode reads YAML; a field that into does not have is an error.
func decode(t *testing.T, path string, into any) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func TestServices(t *testing.T) {
	file := load(t)
	for _, name := range []string{"exporter", "prometheus", "alertmanager", "grafana"} {
		if _, ok := file.Services[name]; !ok {
			t.Errorf("there is no service %s", name)
		}
	}
	for name, s := range file.Services {
		if (s.Build == "") == (s.Image == "") {
			t.Errorf("%s must have either build or image", name)
		}
		if s.Image != "" && !strings.Contains(s.Image, ":") {
			t.Errorf("%s: %s has no version", name, s.Image)
		}
		if s.Build != "" {
			if _, err := os.Stat(filepath.Join(s.Build, "Dockerfile")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, other := range s.DependsOn {
			if _, ok := file.Services[other]; !ok {
				t.Errorf("%s depends on %s, which is no service", name, other)
			}
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s: the port %s is open to others", name, port)
			}
		}
		for _, volume := range s.Volumes {
			parts := strings.Split(volume, ":")
			if len(parts) != 3 || parts[2] != "ro" {
				t.Errorf("%s: %s is not source:target:ro", name, volume)
				continue
			}
			if _, err := os.Stat(parts[0]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// inContainer is the file of this repository that a service sees at path.
func inContainer(t *testing.T, s service, path string) string {
	t.Helper()
	for _, volume := range s.Volumes {
		parts := strings.Split(volume, ":")
		if rest, ok := strings.CutPrefix(path, parts[1]); ok && (rest == "" || rest[0] == '/') {
			return parts[0] + rest
		}
	}
	t.Fatalf("nothing is mounted at %s", path)
	return ""
}

func TestGrafanaFindsDashboards(t *testing.T) {
	file := load(t)
	grafana := file.Services["grafana"]
	if home := inContainer(t, grafana, grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]); home != "../../dashboards/iceberg-fleet.json" {
		t.Errorf("the first page is %s", home)
	}

	var dashboards struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name           string            `yaml:"name"`
			Folder         string            `yaml:"folder"`
			Type           string            `yaml:"type"`
			AllowUIUpdates bool              `yaml:"allowUiUpdates"`
			Options        map[string]string `yaml:"options"`
		} `yaml:"providers"`
	}
	decode(t, inContainer(t, grafana, "/etc/grafana/provisioning/dashboards/iceberg.yml"), &dashboards)
	for _, provider := range dashboards.Providers {
		all, err := filepath.Glob("../../dashboards/iceberg-*.json")
		if err != nil || len(all) == 0 {
			t.Fatalf("no dashboards: %v", err)
		}
		for _, path := range all {
			if got := inContainer(t, grafana, provider.Options["path"]+"/"+filepath.Base(path)); got != path {
				t.Errorf("Grafana gets %s for %s", got, path)
			}
		}
	}

	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name      string            `yaml:"name"`
			Type      string            `yaml:"type"`
			UID       string            `yaml:"uid"`
			Access    string            `yaml:"access"`
			URL       string            `yaml:"url"`
			IsDefault bool              `yaml:"isDefault"`
			JSONData  map[string]string `yaml:"jsonData"`
		} `yaml:"datasources"`
	}
	decode(t, inContainer(t, grafana, "/etc/grafana/provisioning/datasources/prometheus.yml"), &sources)
	for _, source := range sources.Datasources {
		if source.Type != "prometheus" || source.URL != "http://prometheus:9090" {
			t.Errorf("the data source %s is %s at %s", source.Name, source.Type, source.URL)
		}
	}
}

// The configurations are checked where the containers have them, with the rules beside them.
func TestConfigurations(t *testing.T) {
	file := load(t)
	dir := t.TempDir()
	copyFile(t, inContainer(t, file.Services["prometheus"], "/etc/prometheus/prometheus.yml"), filepath.Join(dir, "prometheus.yml"))
	if err := os.CopyFS(filepath.Join(dir, "rules"), os.DirFS(inContainer(t, file.Services["prometheus"], "/etc/prometheus/rules"))); err != nil {
		t.Fatal(err)
	}
	output := run(t, "promtool", "check", "config", filepath.Join(dir, "prometheus.yml"))
	if !strings.Contains(output, "rule files found") || strings.Contains(output, "0 rule files found") {
		t.Errorf("promtool found no rules:\n%s", output)
	}
	run(t, "amtool", "check-config", inContainer(t, file.Services["alertmanager"], "/etc/alertmanager/alertmanager.yml"))
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
	output, err := exec.Command(name, arguments...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, output)
	}
	return string(output)
}
