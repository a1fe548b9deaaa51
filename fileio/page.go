package fileio

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"time"

	"cloud.google.com/go/storage"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
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
			page, next, err := onePage(ctx, bucket, token, options)
			if err == nil && bytes.Equal(next, token) {
				err = errors.New("the store sends the same page again and again")
			}
			if !yield(page, err) || err != nil {
				return
			}
			token = next
		}
	}
}

// pageTimeout is how long a page is waited for, with all that the client tries.
const pageTimeout = 5 * time.Minute

func onePage(ctx context.Context, bucket *blob.Bucket, token []byte, options *blob.ListOptions) ([]*blob.ListObject, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	page, next, err := bucket.ListPage(ctx, token, pageSize, options)
	for _, object := range page {
		// As it is: the library takes some names for ones that it has changed.
		var file types.Object
		var directory types.CommonPrefix
		switch {
		case object.As(&file) && file.Key != nil:
			object.Key = *file.Key
		case object.As(&directory) && directory.Prefix != nil:
			object.Key = *directory.Prefix
		}
	}
	return page, next, err
}

// listExactly tells a store where to begin, and gives it the prefix as it is:
// for S3 the library would replace what it thinks is not portable, such as two
// slashes in a row.
func listExactly(as func(any) bool, of pageOf) {
	var toS3 *s3.ListObjectsV2Input
	var s3Options *[]func(*s3.Options)
	var toGCS *storage.Query
	if as(&s3Options) {
		*s3Options = append(*s3Options, withWholePages)
	}
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

// canBegin reports whether the store of a bucket can be told where to begin. One
// that says it is S3 may still pay no heed to it.
func canBegin(bucket *blob.Bucket) bool {
	var toS3 *s3.Client
	var toGCS *storage.Client
	return bucket.As(&toS3) || bucket.As(&toGCS)
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

// withWholePages has the client ask again for a page that did not come whole. By
// itself it takes an empty answer for an empty page, which would end a listing
// too soon, and repeats no request whose answer breaks off.
func withWholePages(o *s3.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("wholePages", wholePage), middleware.Before)
	})
}

func wholePage(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
	out, more, err := next.HandleDeserialize(ctx, in)
	if _, broken := errors.AsType[*smithy.DeserializationError](err); broken {
		return out, more, brokenPageError{err}
	}
	if page, ok := out.Result.(*s3.ListObjectsV2Output); err == nil && ok && page.Name == nil && page.KeyCount == nil {
		return out, more, brokenPageError{errors.New("the answer is empty")}
	}
	return out, more, err
}

// brokenPageError is an error after which the client tries again.
type brokenPageError struct{ error }

// RetryableError tells the client.
func (brokenPageError) RetryableError() bool { return true }

// Unwrap returns what was wrong.
func (e brokenPageError) Unwrap() error { return e.error }
