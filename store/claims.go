package store

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Claims keep two processes from making one call of the extractor.
//
// Laws, checked by storetest:
//   - A branch and a mark have one holder until its time is over, and then none. Who
//     holds may claim again, which moves its time.
//   - Only the holder can give it back.
//   - What ended more than a day ago is forgotten with the next claim.
type Claims interface {
	// Claim takes a mark of a branch at a time now, and tells whether it has it.
	Claim(ctx context.Context, branch holdfast.BranchID, mark, holder string, now, until time.Time) (bool, error)
	// Unclaim gives a mark back. One that somebody else holds, or nobody, stays as
	// it is.
	Unclaim(ctx context.Context, branch holdfast.BranchID, mark, holder string) error
}

// Secrets keeps random bytes that all processes on a store share.
type Secrets interface {
	// Secret returns what is kept under a name, after it kept fresh where nothing
	// was there. Of several processes that offer one, the first one's stays.
	Secret(ctx context.Context, name string, fresh []byte) ([]byte, error)
}
