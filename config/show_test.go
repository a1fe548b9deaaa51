package config

import (
	"strings"
	"testing"
)

func TestShowHidesSecretsAndNothingElse(t *testing.T) {
	t.Setenv("PLANTED", "planted-variable")
	file := secretFile(t, "planted-in-file")
	c := parse(t, `
catalogs:
  - name: rest
    type: rest
    uri: https://user:planted-password@catalog.example.com/iceberg?sig=planted-query
    warehouse: https://host/warehouse?sig=planted-query
    credential: id:planted-secret
    token: ${PLANTED}
    properties:
      header.X-Tenant: planted-header
      header.Authorization: Bearer planted-header
      s3.access-key-id: planted-id
      s3.secret-access-key: planted-key
      s3.session-token: ${PLANTED}
      s3.region: shown-region
      s3.endpoint: https://shown-endpoint.example.com
      s3.proxy-uri: http://proxy:planted-password@shown-proxy:3128
      gcs.jsonkey: '{"private_key": "planted-key"}'
      gcs.oauth2.token: planted-token
      gcs.keypath: /shown/keypath.json
      adls.auth.shared-key.account.key: planted-key
      adls.connection-string.account: AccountKey=planted-key
      adls.sas-token.account.dfs.core.windows.net: sig=planted-sas
      adls.endpoint: shown-adls
      token: planted-token
      oauth2-server-uri: https://shown-login.example.com/token?key=planted-query
      scope: shown-scope
  - name: sql
    type: sql
    uri: postgresql://shown-user:planted-password@shown-host:5432/shown-db?password=planted-password
    credential_file: `+file+`
    properties: {s3.secret-access-key_file: `+file+`}
  - name: metadata
    type: metadata
    tables: [{name: shown.table, location: "https://user:planted-password@shown-location/x?sig=planted-query"}]
`)
	shown := show(t, c)
	if strings.Contains(shown, "planted") {
		t.Errorf("a secret is shown:\n%s", shown)
	}
	for _, text := range []string{
		"https://user:<secret>@catalog.example.com/iceberg?<secret>", "https://host/warehouse?<secret>",
		"shown-region", "https://shown-endpoint.example.com", "http://proxy:<secret>@shown-proxy:3128", "/shown/keypath.json",
		"shown-adls", "https://shown-login.example.com/token?<secret>", "shown-scope",
		"postgresql://shown-user:<secret>@shown-host:5432/shown-db?<secret>", "credential_file: " + file,
		"s3.secret-access-key_file: " + file, "shown.table", "https://user:<secret>@shown-location/x?<secret>",
	} {
		if !strings.Contains(shown, text) {
			t.Errorf("%s is not shown:\n%s", text, shown)
		}
	}
	// Showing leaves the configuration itself as it is.
	if got := c.Catalogs[0]; got.Token != "planted-variable" || got.Properties["s3.secret-access-key"] != "planted-key" || !strings.Contains(got.URI, "planted") {
		t.Errorf("the configuration became %q, %q, %q", string(got.Token), got.Properties["s3.secret-access-key"], got.URI)
	}
	if again := show(t, c); again != shown {
		t.Errorf("shown again it is\n%s", again)
	}
}

// TestShownFormParses: what is shown is a configuration, with the same meaning.
func TestShownFormParses(t *testing.T) {
	for _, text := range []string{"", `
small_file_threshold: 1000
recent_window: 90s
thresholds: {data_files: null, small_file_ratio: 0.125, metadata_bytes: 12345}
catalogs:
  - {name: a, type: glue, properties: {glue.id: "0123"}, exclude: ["a.*"]}
  - {name: "yes", type: hadoop, warehouse: "s3://b/c d", allow_moved_paths: true, tables: [{name: "x.**", orphan_scan: {enabled: true}}]}
  - {name: "ü: #1", type: sql, uri: "sqlite:///x.db", tables: [{name: "'a'.\"b\"", thresholds: {snapshots: null}}]}
`} {
		shown := show(t, parse(t, text))
		if again := show(t, parse(t, shown)); again != shown {
			t.Errorf("%s\nbecame\n%s", shown, again)
		}
	}
}
