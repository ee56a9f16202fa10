package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// VersionTable is where the schema version stands.
const VersionTable = "holdfast_schema"

// Target is the newest version among the migrations.
func Target(migrations fs.FS) (int64, error) {
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return 0, err
	}
	var newest int64
	for _, name := range names {
		v, err := goose.NumericComponent(name)
		if err != nil {
			return 0, err
		}
		newest = max(newest, v)
	}
	return newest, nil
}

// Version reads the schema version of a database that has a version table.
func Version(ctx context.Context, db *sql.DB) (int64, error) {
	var v sql.NullInt64
	err := db.QueryRowContext(ctx, "SELECT max(version_id) FROM "+VersionTable).Scan(&v)
	return v.Int64, err
}

// Migrate brings the schema forward to the newest of the migrations, each in a
// transaction of its own. Several processes may do so at the same time.
func Migrate(ctx context.Context, db *sql.DB, dialect goose.Dialect, migrations fs.FS) error {
	target, err := Target(migrations)
	if err != nil {
		return err
	}
	// A process that loses a race for a migration fails with it, and finds on
	// its next attempt that the other one is a step further. There are no more
	// steps than migrations, and one for the version table.
	for range target + 2 {
		if err = up(ctx, db, dialect, migrations); err == nil {
			return nil
		}
		if v, verr := Version(ctx, db); verr == nil && v == target {
			return nil
		}
	}
	return fmt.Errorf("bring the schema to version %d: %w", target, err)
}

func up(ctx context.Context, db *sql.DB, dialect goose.Dialect, migrations fs.FS) error {
	p, err := goose.NewProvider(dialect, db, migrations,
		goose.WithTableName(VersionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}
