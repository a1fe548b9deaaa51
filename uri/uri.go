// Package uri takes the locations apart that Iceberg metadata records: URIs of
// object stores and local files, plain paths, relative ones, and the several
// spellings that writers have for one of them.
package uri

import (
	"path"
	"strings"
)

// Scheme returns the scheme of a URI in lower case, "" for a plain path.
func Scheme(uri string) string {
	if i := strings.IndexAny(uri, ":/"); i > 0 && uri[i] == ':' {
		return strings.ToLower(uri[:i])
	}
	return ""
}

// Path returns the path of a URI, without scheme and authority and cleaned of
// what does not change its meaning: one file is spelled file:/x, file:///x and
// /x, another ./y and y, a third s3://bucket/z and s3a://bucket/z. Nothing in it
// is decoded.
func Path(uri string) string {
	if scheme := Scheme(uri); scheme != "" {
		uri = uri[len(scheme)+1:]
	}
	if rest, ok := strings.CutPrefix(uri, "//"); ok {
		_, key, _ := strings.Cut(rest, "/")
		uri = "/" + key
	}
	return path.Clean(uri)
}

// Local returns the path of a file on a local disk, and whether the URI is that
// of one: a plain path, file:/path or file:///path.
func Local(uri string) (string, bool) {
	switch Scheme(uri) {
	case "":
		return uri, true
	case "file":
		local := uri[len("file:"):]
		if rest, ok := strings.CutPrefix(local, "//"); ok {
			// Between the slashes may be a host, which means this one.
			_, local, _ = strings.Cut(rest, "/")
			local = "/" + local
		}
		return local, true
	default:
		return "", false
	}
}

// Join appends names to the URI of a directory.
func Join(directory string, names ...string) string {
	return strings.Join(append([]string{strings.TrimRight(directory, "/")}, names...), "/")
}

// Dir returns the URI of the directory that a file lies in.
func Dir(file string) string {
	if i := strings.LastIndexByte(file, '/'); i > 0 {
		return file[:i]
	}
	return "."
}

// Base returns the last element of a URI.
func Base(file string) string { return file[strings.LastIndexByte(file, '/')+1:] }

// Below returns what follows a directory in a path that Path returned, starting
// with a slash, and whether the path lies in it.
func Below(directory, path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, strings.TrimRight(directory, "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return "/" + strings.TrimPrefix(rest, "/"), true
}
