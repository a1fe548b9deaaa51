package fileio

import (
	"context"
	"iter"

	"cloud.google.com/go/storage"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
)

// pageSize is how many objects a page of a listing has: as many as S3 allows.
const pageSize = 1000

// pageOf says what to list.
type pageOf struct {
	prefix, delimiter string
	// from is where in the order of the keys to begin, where the store can do
	// that, and at the beginning elsewhere.
	from string
}

// pages lists objects page by page.
func (s *Storage) pages(ctx context.Context, bucket *blob.Bucket, of pageOf) iter.Seq2[[]*blob.ListObject, error] {
	options := &blob.ListOptions{Prefix: of.prefix, Delimiter: of.delimiter, BeforeList: func(as func(any) bool) error {
		// One call is one request.
		s.counter.lists.Add(1)
		listExactly(as, of)
		return nil
	}}
	return func(yield func([]*blob.ListObject, error) bool) {
		for token := blob.FirstPageToken; token != nil; {
			var page []*blob.ListObject
			var err error
			page, token, err = bucket.ListPage(ctx, token, pageSize, options)
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// listExactly tells a store where to begin, and gives it the prefix as it is:
// for S3 the library would replace what it thinks is not portable, such as two
// slashes in a row.
func listExactly(as func(any) bool, of pageOf) {
	var toS3 *s3.ListObjectsV2Input
	var toGCS *storage.Query
	switch {
	case as(&toS3):
		if of.prefix != "" {
			toS3.Prefix = &of.prefix
		}
		if of.from > of.prefix && toS3.ContinuationToken == nil {
			toS3.StartAfter = &of.from
		}
	case as(&toGCS):
		if of.from > of.prefix {
			toGCS.StartOffset = of.from
		}
	}
}

// readExactly likewise gives S3 a key as it is.
func readExactly(key string) *blob.ReaderOptions {
	return &blob.ReaderOptions{BeforeRead: func(as func(any) bool) error {
		var toS3 *s3.GetObjectInput
		if as(&toS3) {
			toS3.Key = &key
		}
		return nil
	}}
}
