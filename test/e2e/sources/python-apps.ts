// Apps of Python in the shapes that people have.
import type { SourceApp } from "./app.ts";

const flaskSource = `from flask import Flask\n\napp = Flask(__name__)\n\n\n@app.get("/")\ndef home():\n    return "ONE"\n`;

const flask: SourceApp = {
  name: "flask",
  needs: ["python3"],
  files: { "requirements.txt": "flask\ngunicorn\n", "app.py": flaskSource },
  says: /pip install -r requirements.txt[^]*Starts Flask with gunicorn/,
  inCI: true,
};

const flaskAlone: SourceApp = {
  name: "flask-alone",
  needs: ["python3"],
  files: {
    "requirements.txt": "flask\n",
    "shop/__init__.py": `from flask import Flask\n\n\ndef create_app():\n    app = Flask(__name__)\n    app.get("/")(lambda: "ONE")\n    return app\n`,
  },
  says: /warning: Flask's own server is for development[^]*Starts Flask's own server/,
};

/** Imports are relative to src, which is no package. */
const flaskSrc: SourceApp = {
  name: "flask-src",
  needs: ["python3"],
  files: {
    "requirements.txt": "flask\ngunicorn\n",
    "src/app.py": flaskSource.replace("from flask", "from text import TEXT\nfrom flask").replace('"ONE"', "TEXT"),
    "src/text.py": 'TEXT = "ONE"\n',
  },
  says: /Starts Flask with gunicorn: PYTHONPATH=src\S* gunicorn app:app/,
};

const fastapi: SourceApp = {
  name: "fastapi",
  needs: ["python3"],
  files: {
    "requirements.txt": "fastapi\nuvicorn\n",
    "app/__init__.py": "",
    "app/main.py": `from fastapi import FastAPI\n\napi = FastAPI()\n\n\n@api.get("/")\ndef home():\n    return "ONE"\n`,
  },
  says: /Starts FastAPI with uvicorn: uvicorn app.main:api/,
};

const django: SourceApp = {
  name: "django",
  needs: ["python3"],
  files: {
    "requirements.txt": "django\ngunicorn\n",
    "manage.py": `import os\nimport sys\n\nif __name__ == "__main__":\n    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site1.settings")\n    from django.core.management import execute_from_command_line\n\n    execute_from_command_line(sys.argv)\n`,
    "site1/__init__.py": "",
    "site1/settings.py": `SECRET_KEY = "for a test"\nALLOWED_HOSTS = ["*"]\nROOT_URLCONF = "site1.urls"\nINSTALLED_APPS = ["django.contrib.staticfiles"]\nSTATIC_URL = "static/"\nSTATIC_ROOT = "collected"\n`,
    "site1/urls.py": `from django.http import HttpResponse\nfrom django.urls import path\n\nurlpatterns = [path("", lambda request: HttpResponse("ONE"))]\n`,
    "site1/wsgi.py": `import os\n\nfrom django.core.wsgi import get_wsgi_application\n\nos.environ.setdefault("DJANGO_SETTINGS_MODULE", "site1.settings")\napplication = get_wsgi_application()\n`,
  },
  says: /collectstatic --noinput[^]*Starts Django with gunicorn: gunicorn site1.wsgi/,
};

const uv: SourceApp = {
  name: "uv",
  needs: ["python3"],
  files: {
    "pyproject.toml": `[project]\nname = "shop"\nversion = "1.0.0"\nrequires-python = ">=3.9"\ndependencies = ["flask", "waitress"]\n`,
    "main.py": flaskSource,
  },
  says: /uv sync --no-dev[^]*Starts Flask with waitress/,
};

/** Mirrors of PyPI have its plain index, and not always what Poetry asks for by itself. */
const poetry: SourceApp = {
  name: "poetry",
  needs: ["python3"],
  files: {
    "pyproject.toml": `[tool.poetry]\nname = "shop"\nversion = "1.0.0"\ndescription = ""\nauthors = []\npackage-mode = false\n\n[tool.poetry.dependencies]\npython = ">=3.9"\nflask = "*"\ngunicorn = "*"\n\n[[tool.poetry.source]]\nname = "simple"\nurl = "https://pypi.org/simple/"\npriority = "primary"\n`,
    "app.py": flaskSource,
  },
  says: /poetry install --only main[^]*Starts Flask with gunicorn/,
};

const plain: SourceApp = {
  name: "python-plain",
  needs: ["python3"],
  files: {
    "main.py": `import os\nfrom http.server import BaseHTTPRequestHandler, HTTPServer\n\n\nclass Handler(BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(200)\n        self.end_headers()\n        self.wfile.write(b"ONE")\n\n\nHTTPServer((os.environ.get("HOST", ""), int(os.environ["PORT"])), Handler).serve_forever()\n`,
  },
  says: /No dependencies to install[^]*Starts main.py: python main.py/,
  inPods: true,
};

export const pythonApps: readonly SourceApp[] = [flask, flaskAlone, flaskSrc, fastapi, django, uv, poetry, plain];
