package config

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
)

// redacted stands for a secret wherever one would be shown.
const redacted = "<secret>"

// Secret is a text that is never shown: not when it is printed, not when it is
// marshalled. Convert it to a string only where it is handed to its user.
type Secret string

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString keeps %#v from showing the secret.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// MarshalYAML implements yaml.Marshaler.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// secretKey matches the catalog properties whose values are secrets: the names
// that iceberg-go, PyIceberg and the Java catalogs use for credentials, and
// every custom header.
var secretKey = regexp.MustCompile(`(?i)(^header\.|secret|passw|credential|token|signature|(^|[._-])(sas|api-?key|account-?key|private-?key|json-?key|key)([._-]|$)|connection-?string|authorization)`)

// publicKey matches names that look like secrets and are not: they say where or
// for how long a token is had, not the token.
var publicKey = regexp.MustCompile(`(?i)(uri|url|endpoint|server|expires?[a-z-]*|expiration[a-z-]*|refresh[a-z-]*|provider|type|enabled|scope|file)$`)

// IsSecretProperty reports whether a catalog property of this name holds a
// secret. It errs on the side of yes.
func IsSecretProperty(key string) bool {
	return strings.HasPrefix(strings.ToLower(key), "header.") || secretKey.MatchString(key) && !publicKey.MatchString(key)
}

// RedactURI removes from a URI what may be secret: the password in its user
// information and the values of its query.
func RedactURI(uri string) string {
	parsed, err := url.Parse(uri)
	if err != nil {
		// What cannot be parsed cannot be told apart: keep the scheme alone.
		scheme, _, _ := strings.Cut(uri, ":")
		return scheme + ":" + redacted
	}
	if _, has := parsed.User.Password(); !has && parsed.RawQuery == "" {
		return uri
	}
	// url.UserPassword would escape the angle brackets, so build the text.
	var b strings.Builder
	b.WriteString(parsed.Scheme + "://")
	if parsed.User != nil {
		b.WriteString(parsed.User.Username())
		if _, has := parsed.User.Password(); has {
			b.WriteString(":" + redacted)
		}
		b.WriteString("@")
	}
	b.WriteString(parsed.Host + parsed.EscapedPath())
	if parsed.RawQuery != "" {
		b.WriteString("?" + redacted)
	}
	return b.String()
}

// readSecretFile returns the text of a secret's file without surrounding
// white space. Its errors name the file and never its content.
func readSecretFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading a secret: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return "", fmt.Errorf("reading a secret: %s is empty", path)
	}
	return secret, nil
}
