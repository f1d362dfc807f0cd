// A pipeline with go-cfclient: logs in, pushes an app, reads its instances, deletes it. clients.e2e.ts builds it.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/cloudfoundry/go-cfclient/v3/client"
	"github.com/cloudfoundry/go-cfclient/v3/config"
	"github.com/cloudfoundry/go-cfclient/v3/operation"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	for _, login := range []config.Option{
		config.UserPassword(os.Getenv("CF_USER"), os.Getenv("CF_TOKEN")),
		config.ClientCredentials(os.Getenv("CF_USER"), os.Getenv("CF_TOKEN")),
	} {
		if err := run(ctx, login); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
	}
}

func run(ctx context.Context, login config.Option) error {
	cfg, err := config.New(os.Getenv("CF_API"), login)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	cf, err := client.New(cfg)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	orgs, err := cf.Organizations.ListAll(ctx, nil)
	if err != nil {
		return fmt.Errorf("orgs: %w", err)
	}
	fmt.Println("orgs:", len(orgs))
	bits, err := os.Open(os.Getenv("CF_BITS"))
	if err != nil {
		return err
	}
	defer bits.Close()
	app, err := operation.NewAppPushOperation(cf, os.Getenv("CF_ORG"), os.Getenv("CF_SPACE")).Push(ctx, &operation.AppManifest{Name: "by-go-cfclient"}, bits)
	if err != nil {
		return fmt.Errorf("push: %w", err)
	}
	fmt.Println("pushed:", app.Name, app.State)
	stats, err := cf.Processes.GetStatsForApp(ctx, app.GUID, "web")
	if err != nil {
		return fmt.Errorf("stats: %w", err)
	}
	fmt.Println("instances:", len(stats.Stats))
	job, err := cf.Applications.Delete(ctx, app.GUID)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if err := cf.Jobs.PollComplete(ctx, job, nil); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	fmt.Println("deleted")
	return nil
}
