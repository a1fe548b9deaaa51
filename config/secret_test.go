package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const planted = "planted-secret"

func TestSecretIsNeverPrinted(t *testing.T) {
	secret := Secret(planted)
	type nested struct {
		Secret  Secret
		Pointer *Secret
		List    []Secret
		Map     map[string]Secret
		Any     any
	}
	values := map[string]any{
		"alone": secret, "pointer": &secret, "list": []Secret{secret}, "map": map[Secret]Secret{secret: secret},
		"struct":            nested{secret, &secret, []Secret{secret}, map[string]Secret{"k": secret}, secret},
		"pointer to struct": &nested{Secret: secret, Any: nested{Secret: secret}},
		"catalog":           Catalog{Credential: secret, Token: secret},
		"config":            &Config{Catalogs: []Catalog{{Credential: secret}}},
	}
	for name, value := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%10.3v", "%U"} {
			shown := fmt.Sprintf(verb, value)
			for _, text := range []string{planted, planted[:6], fmt.Sprintf("%x", planted), fmt.Sprintf("%X", planted)} {
				if strings.Contains(shown, text) {
					t.Errorf("%s of %s is %s", verb, name, shown)
				}
			}
		}
	}
	for _, got := range []string{
		secret.String(), fmt.Sprint(secret), fmt.Sprintf("%v", secret), fmt.Sprintf("%#v", secret), fmt.Sprintf("%d", any(secret)),
	} {
		if got != "<secret>" {
			t.Errorf("got %q", got)
		}
	}
	if got := fmt.Sprint(Secret("")); got != "" {
		t.Errorf("no secret is printed as %q", got)
	}
}

func TestSecretIsNeverMarshalled(t *testing.T) {
	value := struct {
		Secret  Secret            `yaml:"secret"`
		List    []Secret          `yaml:"list"`
		Map     map[string]Secret `yaml:"map"`
		Without Secret            `yaml:"without,omitempty"`
	}{planted, []Secret{planted}, map[string]Secret{"k": planted}, ""}
	asYAML, err := yaml.Marshal(value)
	if want := "secret: <secret>\nlist:\n    - <secret>\nmap:\n    k: <secret>\n"; err != nil || string(asYAML) != want {
		t.Errorf("got %s, %v", asYAML, err)
	}
	asJSON, err := json.Marshal(value)
	if err != nil || strings.Contains(string(asJSON), planted) {
		t.Errorf("got %s, %v", asJSON, err)
	}
}

func TestIsSecretProperty(t *testing.T) {
	for _, key := range []string{
		"token", "credential", "password", "user.password", "jdbc.password", "auth.basic.password",
		"s3.secret-access-key", "s3.session-token", "s3.access-key-id", "client.secret-access-key", "glue.secret-access-key", "glue.session-token",
		"gcs.oauth2.token", "gcs.jsonkey", "gcs.json-key",
		"adls.auth.shared-key.account.key", "adls.account-key", "adls.sas-token", "adls.client-secret",
		"adls.sas-token.account.dfs.core.windows.net", "adls.connection-string.account",
		// Whatever the account is called.
		"adls.connection-string.server", "adls.sas-token.my-file", "adls.connection-string.endpoint",
		"header.Authorization", "header.X-Api-Key", "header.X-Anything", "Header.x-endpoint", "HEADER.uri",
		"api-key", "private-key", "S3.SECRET-ACCESS-KEY", "my.profile-token", "authorization",
	} {
		if !IsSecretProperty(key) {
			t.Errorf("%s would be shown", key)
		}
	}
	for _, key := range []string{
		"s3.region", "s3.endpoint", "s3.force-virtual-addressing", "s3.connect-timeout", "s3.proxy-uri", "s3.compat-mode",
		"client.region", "glue.region", "glue.endpoint", "glue.id", "glue.max-retries", "gcs.endpoint", "gcs.service.host", "gcs.keypath", "gcs.no-auth",
		"gcs.oauth2.token-expires-at", "adls.endpoint", "adls.protocol", "adls.client-id", "adls.auth.managed-identity.enabled",
		"oauth2-server-uri", "scope", "audience", "resource", "prefix", "rest.sigv4-enabled", "rest.signing-region", "rest.signing-name",
		"rest.authorization-url", "sql.catalog_name", "snapshot-loading-mode", "warehouse", "token-refresh-enabled", "client.credentials-provider",
		// The paths of files with secrets are none.
		"s3.secret-access-key_file", "token_file",
	} {
		if IsSecretProperty(key) {
			t.Errorf("%s would not be shown", key)
		}
	}
}

func TestRedactURI(t *testing.T) {
	for uri, want := range map[string]string{
		"":                            "",
		"/data/warehouse":             "/data/warehouse",
		"/data/100%/a@b":              "<secret>", // No URI can be told from it.
		"/data/100%":                  "/data/100%",
		"relative/path":               "relative/path",
		"file:///data":                "file:///data",
		"s3://bucket/a b/c%20d":       "s3://bucket/a b/c%20d",
		"s3://bucket/100%":            "s3://bucket/100%",
		"https://catalog.example.com": "https://catalog.example.com",
		"thrift://host:9083":          "thrift://host:9083",
		"http://[::1]:8181/a":         "http://[::1]:8181/a",
		"sqlite:////data/catalog.db":  "sqlite:////data/catalog.db",
		"postgresql://user@host/db":   "postgresql://user@host/db",
		"abfss://container@account.dfs.core.windows.net/a":     "abfss://container@account.dfs.core.windows.net/a",
		"https://host/a?planted":                               "https://host/a?<secret>",
		"https://host/a?X-Amz-Signature=planted&b=planted":     "https://host/a?<secret>",
		"postgresql://user:planted@host:5432/db":               "postgresql://user:<secret>@host:5432/db",
		"postgresql://user:pl%40nted@host/db?password=planted": "postgresql://user:<secret>@host/db?<secret>",
		"postgresql://user@host/db?password=planted":           "postgresql://user@host/db?<secret>",
		"https://:planted@host":                                "https://:<secret>@host",
		"sqlite:///a.db?key=planted":                           "sqlite:///a.db?<secret>",
		"postgresql:user:planted@host/db":                      "<secret>",
		"postgresql://user:plan/ted@host/db":                   "<secret>",
		"postgresql://user:planted%zz@host/db":                 "<secret>",
	} {
		if got := RedactURI(uri); got != want {
			t.Errorf("%s became %s, want %s", uri, got, want)
		}
	}
}
