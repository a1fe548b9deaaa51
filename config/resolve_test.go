package config

import (
	"errors"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestReadSecrets(t *testing.T) {
	file := secretFile(t, "\n planted in a file \n\n")
	for name, c := range map[string]struct {
		catalog string
		want    Secrets
	}{
		"none":   {"{name: c, type: glue}", Secrets{Properties: map[string]string{}}},
		"inline": {"{name: c, type: rest, uri: 'http://h', credential: i:s, token: t, properties: {a: b, s3.session-token: x}}", Secrets{Credential: "i:s", Token: "t", Properties: map[string]string{"a": "b", "s3.session-token": "x"}}},
		"files": {
			"{name: c, type: rest, uri: 'http://h', credential_file: FILE, token_file: FILE, properties: {a: b, s3.session-token_file: FILE}}",
			Secrets{Credential: "planted in a file", Token: "planted in a file", Properties: map[string]string{"a": "b", "s3.session-token": "planted in a file"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			catalog := parse(t, "catalogs: ["+strings.ReplaceAll(c.catalog, "FILE", file)+"]").Catalogs[0]
			before := show(t, &Config{Catalogs: []Catalog{catalog}})
			got, err := catalog.ReadSecrets()
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v", got, err)
			}
			// The properties are the caller's own.
			got.Properties["planted"] = "x"
			if after := show(t, &Config{Catalogs: []Catalog{catalog}}); after != before {
				t.Errorf("the catalog became %s", after)
			}
		})
	}
}

func TestSecretFilesAreReadAgain(t *testing.T) {
	file := secretFile(t, "first")
	catalog := parse(t, "catalogs: [{name: c, type: rest, uri: 'http://h', token_file: "+file+", properties: {s3.session-token_file: "+file+"}}]").Catalogs[0]
	for _, want := range []string{"first", "second", "third"} {
		if err := os.WriteFile(file, []byte(want+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := catalog.ReadSecrets()
		if err != nil || got.Token != want || got.Properties["s3.session-token"] != want {
			t.Errorf("got %+v, %v, want %s", got, err, want)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	_, err := catalog.ReadSecrets()
	if !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), file) != 2 {
		t.Errorf("without the file: %v", err)
	}
}

func TestSecretFilesThatAreWrong(t *testing.T) {
	empty := secretFile(t, " \n\t\n")
	for name, c := range map[string]struct{ catalog, want string }{
		"both":             {"type: rest, uri: 'http://h', credential: planted, credential_file: " + secretFile(t, "x"), "credential_file: stands beside credential: give one of the two"},
		"both tokens":      {"type: rest, uri: 'http://h', token: planted, token_file: " + secretFile(t, "x"), "token_file: stands beside token: give one of the two"},
		"both properties":  {"type: glue, properties: {s3.session-token: planted, s3.session-token_file: " + secretFile(t, "x") + "}", "properties.s3.session-token_file: stands beside s3.session-token: give one of the two"},
		"missing":          {"type: rest, uri: 'http://h', credential_file: /no/such/planted", "credential_file: cannot be read: no such file or directory"},
		"missing property": {"type: glue, properties: {s3.session-token_file: /no/such/planted}", "properties.s3.session-token_file: cannot be read: no such file or directory"},
		"empty":            {"type: rest, uri: 'http://h', token_file: " + empty, "token_file: cannot be read: the file is empty"},
		"empty property":   {"type: glue, properties: {s3.session-token_file: " + empty + "}", "properties.s3.session-token_file: cannot be read: the file is empty"},
		"directory":        {"type: rest, uri: 'http://h', token_file: /", "token_file: cannot be read: is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			got := mistakes(t, "catalogs: [{name: c, "+c.catalog+"}]")
			if want := []string{"test.yml:1: catalogs[0]." + c.want}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestSecretValues(t *testing.T) {
	s := Secrets{
		Credential: "planted-id:planted-secret",
		Token:      "planted-token",
		Properties: map[string]string{
			"header.Authorization": "Bearer planted-bearer", "s3.secret-access-key": "planted-key",
			"s3.region": "eu-west-1", "adls.connection-string.server": "planted-string", "token": "ab:c",
		},
	}
	values := s.Values()
	for _, want := range []string{
		"planted-id:planted-secret", "planted-id", "planted-secret", "planted-token", "Bearer planted-bearer", "planted-bearer", "planted-key", "planted-string",
	} {
		if !slices.Contains(values, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, value := range values {
		if len(value) < minRedactedLength || value == "eu-west-1" {
			t.Errorf("%q would be taken out of the log", value)
		}
	}
}
