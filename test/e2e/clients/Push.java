// Pushes an app with cf-java-client and deletes it, by a user's login and by client credentials. Prints `deleted` for each.
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.cloudfoundry.client.v3.BuildpackData;
import org.cloudfoundry.client.v3.Lifecycle;
import org.cloudfoundry.client.v3.LifecycleType;
import org.cloudfoundry.client.v3.Relationship;
import org.cloudfoundry.client.v3.ToOneRelationship;
import org.cloudfoundry.client.v3.applications.ApplicationRelationships;
import org.cloudfoundry.client.v3.applications.CreateApplicationRequest;
import org.cloudfoundry.client.v3.applications.DeleteApplicationRequest;
import org.cloudfoundry.client.v3.applications.GetApplicationProcessStatisticsRequest;
import org.cloudfoundry.client.v3.applications.SetApplicationCurrentDropletRequest;
import org.cloudfoundry.client.v3.applications.StartApplicationRequest;
import org.cloudfoundry.client.v3.builds.BuildState;
import org.cloudfoundry.client.v3.builds.CreateBuildRequest;
import org.cloudfoundry.client.v3.builds.GetBuildRequest;
import org.cloudfoundry.client.v3.builds.GetBuildResponse;
import org.cloudfoundry.client.v3.jobs.GetJobRequest;
import org.cloudfoundry.client.v3.jobs.JobState;
import org.cloudfoundry.client.v3.packages.CreatePackageRequest;
import org.cloudfoundry.client.v3.packages.GetPackageRequest;
import org.cloudfoundry.client.v3.packages.PackageRelationships;
import org.cloudfoundry.client.v3.packages.PackageState;
import org.cloudfoundry.client.v3.packages.PackageType;
import org.cloudfoundry.client.v3.packages.UploadPackageRequest;
import org.cloudfoundry.client.v3.processes.ProcessState;
import org.cloudfoundry.client.v3.spaces.ListSpacesRequest;
import org.cloudfoundry.reactor.DefaultConnectionContext;
import org.cloudfoundry.reactor.TokenProvider;
import org.cloudfoundry.reactor.client.ReactorCloudFoundryClient;
import org.cloudfoundry.reactor.tokenprovider.ClientCredentialsGrantTokenProvider;
import org.cloudfoundry.reactor.tokenprovider.PasswordGrantTokenProvider;
import org.cloudfoundry.reactor.uaa.ReactorUaaClient;

public final class Push {

    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private final ReactorCloudFoundryClient client;

    private Push(DefaultConnectionContext context, TokenProvider tokens) {
        this.client = ReactorCloudFoundryClient.builder().connectionContext(context).tokenProvider(tokens).build();
    }

    public static void main(String[] arguments) throws Exception {
        java.net.URI api = java.net.URI.create(env("CF_API"));
        DefaultConnectionContext context =
                DefaultConnectionContext.builder().apiHost(api.getHost()).port(api.getPort()).secure(false).build();
        TokenProvider user =
                PasswordGrantTokenProvider.builder().username(env("CF_USER")).password(env("CF_TOKEN")).build();
        TokenProvider client = ClientCredentialsGrantTokenProvider.builder()
                .clientId(env("CF_USER"))
                .clientSecret(env("CF_TOKEN"))
                .build();
        // It verifies the token by the published keys.
        String name = ReactorUaaClient.builder()
                .connectionContext(context)
                .tokenProvider(user)
                .build()
                .getUsername()
                .block(PATIENCE);
        System.out.println("user " + name);
        new Push(context, user).pushAndDelete("java-user");
        new Push(context, client).pushAndDelete("java-client");
        System.exit(0);
    }

    private void pushAndDelete(String name) throws InterruptedException {
        String space = client.spacesV3()
                .list(ListSpacesRequest.builder().name(env("CF_SPACE")).build())
                .block(PATIENCE)
                .getResources()
                .stream()
                .reduce((first, last) -> last)
                .orElseThrow()
                .getId();
        String app = client.applicationsV3()
                .create(CreateApplicationRequest.builder()
                        .name(name)
                        .lifecycle(Lifecycle.builder()
                                .type(LifecycleType.BUILDPACK)
                                .data(BuildpackData.builder().build())
                                .build())
                        .relationships(
                                ApplicationRelationships.builder().space(to(space)).build())
                        .build())
                .block(PATIENCE)
                .getId();
        String droplet = stage(upload(app));
        client.applicationsV3()
                .setCurrentDroplet(SetApplicationCurrentDropletRequest.builder()
                        .applicationId(app)
                        .data(Relationship.builder().id(droplet).build())
                        .build())
                .block(PATIENCE);
        client.applicationsV3()
                .start(StartApplicationRequest.builder().applicationId(app).build())
                .block(PATIENCE);
        await(() -> client.applicationsV3()
                        .getProcessStatistics(GetApplicationProcessStatisticsRequest.builder()
                                .applicationId(app)
                                .type("web")
                                .build())
                        .block(PATIENCE)
                        .getResources()
                        .get(0)
                        .getState()
                == ProcessState.RUNNING);
        String job = client.applicationsV3()
                .delete(DeleteApplicationRequest.builder().applicationId(app).build())
                .block(PATIENCE);
        await(() -> client.jobsV3()
                        .get(GetJobRequest.builder().jobId(job).build())
                        .block(PATIENCE)
                        .getState()
                == JobState.COMPLETE);
        System.out.println("deleted");
    }

    private String upload(String app) throws InterruptedException {
        String bits = client.packages()
                .create(CreatePackageRequest.builder()
                        .type(PackageType.BITS)
                        .relationships(
                                PackageRelationships.builder().application(to(app)).build())
                        .build())
                .block(PATIENCE)
                .getId();
        client.packages()
                .upload(UploadPackageRequest.builder()
                        .packageId(bits)
                        .bits(Path.of(env("CF_BITS")))
                        .build())
                .block(PATIENCE);
        await(() -> client.packages()
                        .get(GetPackageRequest.builder().packageId(bits).build())
                        .block(PATIENCE)
                        .getState()
                == PackageState.READY);
        return bits;
    }

    private String stage(String bits) throws InterruptedException {
        String build = client.builds()
                .create(CreateBuildRequest.builder()
                        .getPackage(Relationship.builder().id(bits).build())
                        .build())
                .block(PATIENCE)
                .getId();
        await(() -> getBuild(build).getState() != BuildState.STAGING);
        return getBuild(build).getDroplet().getId();
    }

    private GetBuildResponse getBuild(String build) {
        return client.builds().get(GetBuildRequest.builder().buildId(build).build()).block(PATIENCE);
    }

    private static ToOneRelationship to(String id) {
        return ToOneRelationship.builder()
                .data(Relationship.builder().id(id).build())
                .build();
    }

    private static void await(BooleanSupplier isDone) throws InterruptedException {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!isDone.getAsBoolean()) {
            if (System.nanoTime() > deadline) throw new IllegalStateException("not within " + PATIENCE);
            Thread.sleep(500);
        }
    }

    private static String env(String name) {
        return System.getenv(name);
    }
}
