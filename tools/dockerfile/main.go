// Command dockerfile checks a Dockerfile as `docker build --check` does, without
// a daemon and without the base images: it parses all stages, resolves what they
// refer to and runs BuildKit's lint rules.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/opencontainers/go-digest"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dockerfile FILE")
		os.Exit(2)
	}
	mistakes, err := check(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, mistake := range mistakes {
		fmt.Fprintln(os.Stderr, mistake)
	}
	if len(mistakes) > 0 {
		os.Exit(1)
	}
}

// check returns what is wrong with a Dockerfile, one line a mistake.
func check(name string) ([]string, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	source := llb.NewSourceMap(nil, name, "Dockerfile", content)
	source.Definition = &llb.Definition{} // The results refer to it.
	results, err := dockerfile2llb.DockerfileLint(context.Background(), content, dockerfile2llb.ConvertOpt{
		SourceMap:    source,
		MetaResolver: anyImage{},
	})
	if err != nil {
		return nil, err
	}
	var mistakes []string
	for _, w := range results.Warnings {
		line := int32(0)
		if len(w.Location.GetRanges()) > 0 {
			line = w.Location.GetRanges()[0].GetStart().GetLine()
		}
		mistakes = append(mistakes, fmt.Sprintf("%s:%d: %s: %s", name, line, w.RuleName, w.Detail))
	}
	if results.Error != nil {
		mistakes = append(mistakes, fmt.Sprintf("%s: %s", name, results.Error.Message))
	}
	return mistakes, nil
}

// anyImage takes every base image for one that exists and sets nothing.
type anyImage struct{}

func (anyImage) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	config := []byte(`{"os":"linux","architecture":"amd64"}`)
	return ref, digest.FromBytes(config), config, nil
}
